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
  /** The number of unanswered requests. A client without a request only waits for the keeper to exit. */
  countOpenRequests(): number;
  /** When this returns, no client can connect, and all connections are closed. */
  close(): void;
}

export interface ListenOptions {
  readonly socket: string;
  readonly log: Log;
  /** Performs a request. An error that it throws is the answer. */
  handle(request: KeeperRequest): Promise<void>;
  /** A request was received or answered. */
  onChange(): void;
}

/** Replaces the socket file of a dead keeper; the caller checks first that no keeper is alive. */
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
    socket.on("error", () => {}); // the client is gone; its request is performed anyway
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
      log.warn({ process: request.process, error }, `${request.do} of process ${request.process} failed`);
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
      server.close(); // also removes the file
      for (const socket of sockets) socket.destroy();
    },
  };
}

async function bindSocket(server: Server, path: string): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  server.once("error", reject);
  // No other user can open the socket, from the moment of its creation.
  const before = process.umask(0o177);
  try {
    server.listen(path, resolve);
  } finally {
    process.umask(before);
  }
  await promise;
  chmodSync(path, 0o600);
}

/** Whether a keeper listens at this path. */
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
