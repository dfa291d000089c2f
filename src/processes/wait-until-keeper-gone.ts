import { connect } from "node:net";

/**
 * Stays connected without a request: resolves with false at once if no keeper listens, and with true when the keeper is
 * gone or the signal aborts. It does not keep this process alive.
 */
export function waitUntilKeeperGone(path: string, signal: AbortSignal): Promise<boolean> {
  return new Promise((resolve) => {
    let isConnected = false;
    const socket = connect(path);
    // At once: after an abort, nothing else keeps this process alive until the socket has closed.
    const hangUp = (): void => {
      socket.destroy();
      resolve(isConnected);
    };
    signal.addEventListener("abort", hangUp, { once: true });
    socket.unref();
    socket.resume(); // the greeting
    socket.on("connect", () => {
      isConnected = true;
    });
    socket.on("error", () => {}); // "close" follows
    socket.on("close", () => {
      signal.removeEventListener("abort", hangUp);
      resolve(isConnected);
    });
    if (signal.aborted) hangUp();
  });
}
