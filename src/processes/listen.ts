import { chmodSync, rmSync } from "node:fs";
import { connect, createServer, type Server, type Socket } from "node:net";
import type { Log } from "../ports/log.ts";
import {
  KEEPER_PROTOCOL,
  type KeeperRequest,
  parseKeeperRequest,
  readSocketLines,
  sendLine,
  toErrorAnswer,
} from "./protocol.ts";

export interface KeeperListener {
  /** How many requests are not answered yet. Who is only connected wants to know when we are gone, and nothing else. */
  countOpenRequests(): number;
  /** Nobody finds us any more when this returns; who is connected is hung up on. */
  close(): void;
}

export interface ListenOptions {
  readonly socket: string;
  readonly log: Log;
  /** Does what is asked. What it throws is the answer. */
  handle(request: KeeperRequest): Promise<void>;
  /** One has come or was answered. */
  onChange(): void;
}

/** Takes the place of a socket that a dead keeper has left behind; whether one is alive is to be asked before. */
export async function listenForRequests({
  socket: path,
  log,
  handle,
  onChange,
}: ListenOptions): Promise<KeeperListener> {
  const sockets = new Set<Socket>();
  let open = 0;
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on("error", () => {}); // gone; what it asked for is done all the same
    socket.on("close", () => sockets.delete(socket));
    sendLine(socket, { keeper: KEEPER_PROTOCOL, pid: process.pid });
    readSocketLines(
      socket,
      (line) => void answer(socket, line),
      () => socket.destroy(),
    );
  });

  async function answer(socket: Socket, line: string): Promise<void> {
    const request = parseKeeperRequest(line);
    if (request === undefined) return void socket.destroy();
    const { id } = request;
    open += 1;
    onChange();
    try {
      await handle(request);
      sendLine(socket, { id, done: true });
    } catch (error) {
      log.warn({ process: request.process, error }, `${request.do} failed`);
      sendLine(socket, { id, error: toErrorAnswer(error) });
    } finally {
      open -= 1;
      onChange();
    }
  }

  rmSync(path, { force: true });
  await bindSocket(server, path);
  return {
    countOpenRequests: () => open,
    close() {
      server.close(); // which removes the file, too
      for (const socket of sockets) socket.destroy();
    },
  };
}

async function bindSocket(server: Server, path: string): Promise<void> {
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
export function isKeeperListening(path: string): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(path);
    socket.on("connect", () => {
      socket.destroy();
      resolve(true);
    });
    socket.on("error", () => resolve(false));
  });
}
