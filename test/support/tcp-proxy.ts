import { connect, createServer, type Server, type Socket } from "node:net";

/**
 * - `before`: COMMIT does not reach the server, and both connections end.
 * - `before, unnoticed`: the same, but the server's side stays open.
 * - `after`: the server has committed, and its answer is dropped.
 * - `meanwhile`: COMMIT is sent, and both connections end at once.
 */
export type CommitCut = "before" | "before, unnoticed" | "after" | "meanwhile";

export interface TcpProxy {
  readonly port: number;
  /** The number of open connections. */
  readonly connections: number;
  /** The number of cuts at a COMMIT. */
  readonly commitCuts: number;
  /** Ends all connections now. */
  cut(): void;
  /** Ends a connection when the next COMMIT passes. */
  cutAtCommit(how: CommitCut): void;
  /** Delays everything, in both directions. */
  delay(ms: number): void;
  /** Forwards nothing more on the open connections, without ending them. New ones work. */
  freeze(): void;
  /** Refuses new connections until `accept`. Open ones stay. */
  refuse(): void;
  accept(): Promise<void>;
  close(): Promise<void>;
}

/** A simple query of this text; the driver sends no other form of it. */
const COMMIT = Buffer.concat([Buffer.from([0x51, 0, 0, 0, 11]), Buffer.from("commit\0")]);
const COMMITTED = Buffer.from("COMMIT\0");

interface Link {
  readonly client: Socket;
  readonly server: Socket;
  isFrozen: boolean;
  dropsCommitted: boolean;
}

/** A proxy in front of a PostgreSQL server that fails in chosen ways. */
export async function startTcpProxy(target: number): Promise<TcpProxy> {
  const links = new Set<Link>();
  let commitCut: CommitCut | undefined;
  let commitCuts = 0;
  let delayMs = 0;

  const end = (link: Link): void => {
    links.delete(link);
    link.client.destroy();
    link.server.destroy();
  };
  const delayed = new WeakMap<Socket, { readonly chunks: Buffer[]; lastAt: number }>();
  /** In order, also when the delay becomes shorter. */
  const forward = (to: Socket, data: Buffer): void => {
    const queue = delayed.get(to) ?? { chunks: [], lastAt: 0 };
    delayed.set(to, queue);
    if (delayMs === 0 && queue.chunks.length === 0) {
      to.write(data);
      return;
    }
    const now = performance.now();
    queue.lastAt = Math.max(queue.lastAt, now + delayMs);
    queue.chunks.push(data);
    setTimeout(() => {
      const [first] = queue.chunks.splice(0, 1);
      if (first !== undefined && !to.destroyed) to.write(first);
    }, queue.lastAt - now);
  };
  const cutAt = (link: Link, how: CommitCut, data: Buffer, at: number): void => {
    commitCuts += 1;
    if (how === "after") {
      link.dropsCommitted = true;
      forward(link.server, data);
      return;
    }
    link.server.write(how === "meanwhile" ? data : data.subarray(0, at), () => {
      if (how === "before, unnoticed") {
        link.isFrozen = true;
        link.client.destroy();
      } else end(link);
    });
  };
  const onRequest = (link: Link, data: Buffer): void => {
    if (link.isFrozen) return;
    const at = commitCut === undefined ? -1 : data.indexOf(COMMIT);
    if (commitCut === undefined || at < 0) {
      forward(link.server, data);
      return;
    }
    const how = commitCut;
    commitCut = undefined;
    cutAt(link, how, data, at);
  };
  const onAnswer = (link: Link, data: Buffer): void => {
    if (link.isFrozen) return;
    if (!link.dropsCommitted) forward(link.client, data);
    else if (data.includes(COMMITTED)) end(link);
  };
  const listener = (client: Socket): void => {
    const server = connect(target, "127.0.0.1");
    const link: Link = { client, server, isFrozen: false, dropsCommitted: false };
    links.add(link);
    client.setNoDelay(true);
    server.setNoDelay(true);
    client.on("data", (data: Buffer) => onRequest(link, data));
    server.on("data", (data: Buffer) => onAnswer(link, data));
    for (const socket of [client, server]) socket.on("error", () => end(link));
    server.on("close", () => end(link));
    client.on("close", () => {
      if (!link.isFrozen) end(link);
    });
  };
  const listen = (port: number): Promise<Server> =>
    new Promise((resolve, reject) => {
      const created = createServer(listener);
      created.once("error", reject);
      created.listen(port, "127.0.0.1", () => resolve(created));
    });
  const endAll = (): void => {
    for (const link of [...links]) end(link);
  };
  let listening = await listen(0);
  const address = listening.address();
  const port = typeof address === "object" && address !== null ? address.port : 0;
  return {
    port,
    get connections() {
      return links.size;
    },
    get commitCuts() {
      return commitCuts;
    },
    cut: endAll,
    cutAtCommit(how) {
      commitCut = how;
    },
    delay(ms) {
      delayMs = ms;
    },
    freeze() {
      for (const link of links) link.isFrozen = true;
    },
    refuse() {
      listening.close();
    },
    async accept() {
      listening = await listen(port);
    },
    async close() {
      listening.close();
      endAll();
    },
  };
}
