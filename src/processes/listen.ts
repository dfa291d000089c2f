import { chmodSync, rmSync } from "node:fs";
import { connect, createServer, type Server, type Socket } from "node:net";
import type { Log } from "../ports/log.ts";
import { eachLine, PROTOCOL, plainError, type Request, readRequest, send } from "./protocol.ts";

export interface Listening {
  /** How many requests are not answered yet. Who is only connected wants to know when we are gone, and nothing else. */
  open(): number;
  /** Nobody finds us any more when this returns; who is connected is hung up on. */
  close(): void;
}

export interface ListenOptions {
  readonly socket: string;
  readonly log: Log;
  /** Does what is asked. What it throws is the answer. */
  handle(request: Request): Promise<void>;
  /** One has come or was answered. */
  changed(): void;
}

/** Takes the place of a socket that a dead keeper has left behind; whether one is alive is to be asked before. */
export async function listen({ socket: path, log, handle, changed }: ListenOptions): Promise<Listening> {
  const sockets = new Set<Socket>();
  let open = 0;
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on("error", () => {}); // gone; what it asked for is done all the same
    socket.on("close", () => sockets.delete(socket));
    send(socket, { keeper: PROTOCOL, pid: process.pid });
    eachLine(
      socket,
      (line) => void answer(socket, line),
      () => socket.destroy(),
    );
  });

  async function answer(socket: Socket, line: string): Promise<void> {
    const request = readRequest(line);
    if (request === undefined) return void socket.destroy();
    const { id } = request;
    open += 1;
    changed();
    try {
      await handle(request);
      send(socket, { id, done: true });
    } catch (error) {
      log.warn({ process: request.process, error }, `${request.do} failed`);
      send(socket, { id, error: plainError(error) });
    } finally {
      open -= 1;
      changed();
    }
  }

  rmSync(path, { force: true });
  await bound(server, path);
  return {
    open: () => open,
    close() {
      server.close(); // which removes the file, too
      for (const socket of sockets) socket.destroy();
    },
  };
}

async function bound(server: Server, path: string): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  server.once("error", reject);
  // Nobody else's from its first moment on.
  const before = process.umask(0o177);
  try {
    server.listen(path, resolve);
  } finally {
    process.umask(before);
  }
  await promise;
  chmodSync(path, 0o600);
}

/** Whether somebody listens there. */
export function isAnswered(path: string): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(path);
    socket.on("connect", () => {
      socket.destroy();
      resolve(true);
    });
    socket.on("error", () => resolve(false));
  });
}
