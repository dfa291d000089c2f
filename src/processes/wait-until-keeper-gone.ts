import { connect } from "node:net";

/**
 * Stays connected, and says nothing: false at once when nobody is there, true when whoever was there is gone, or when the
 * signal aborts. It keeps no program from ending.
 */
export function waitUntilKeeperGone(path: string, signal: AbortSignal): Promise<boolean> {
  return new Promise((resolve) => {
    let isThere = false;
    const socket = connect(path);
    // At once: whoever ends has nothing else that would keep it until the socket has closed.
    const hangUp = (): void => {
      socket.destroy();
      resolve(isThere);
    };
    signal.addEventListener("abort", hangUp, { once: true });
    socket.unref();
    socket.resume(); // its greeting
    socket.on("connect", () => {
      isThere = true;
    });
    socket.on("error", () => {}); // which closes it
    socket.on("close", () => {
      signal.removeEventListener("abort", hangUp);
      resolve(isThere);
    });
    if (signal.aborted) hangUp();
  });
}
