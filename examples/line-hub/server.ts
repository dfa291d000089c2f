// The hub itself: a small server that keeps messages until they are acknowledged, for the example and for the contract suite.

import { once } from "node:events";
import { type AddressInfo, createServer, type Socket } from "node:net";
import { createInterface } from "node:readline";
import type { HubAnswer, HubMessage, HubRequest, HubSend } from "./protocol.ts";

export interface SentLine {
  readonly messageId: string;
  readonly text: string;
  readonly replyTo?: string;
}

export type HubFault = HubAnswer | "cut" | "silence";

export interface LineHubServer {
  readonly port: number;
  readonly token: string;
  /** A person says something. Returns the id of the message. */
  say(message: Omit<HubMessage, "id" | "at">): string;
  /** Sends the newest message of the chat to the listeners once more. */
  redeliver(chat: string): void;
  listSent(chat: string): readonly SentLine[];
  /** Resolves when so many messages were sent to the chat. */
  untilSent(chat: string, count: number): Promise<readonly SentLine[]>;
  /** How the next message that is sent fails. */
  failNext(fault: HubFault): void;
  close(): Promise<void>;
}

export async function startLineHub(token = "sesame-open-the-hub"): Promise<LineHubServer> {
  const said: HubMessage[] = [];
  const acknowledged = new Set<string>();
  const sent = new Map<string, (SentLine & { readonly nonce: string })[]>();
  const listeners = new Set<Socket>();
  const sockets = new Set<Socket>();
  const looks = new Set<() => void>();
  let ids = 0;
  let fault: HubFault | undefined;

  const write = (socket: Socket, line: HubAnswer | HubMessage): void =>
    void socket.write(`${JSON.stringify(line)}\n`);
  const inChat = (chat: string) => sent.get(chat) ?? [];

  function handle(socket: Socket, request: HubRequest): void {
    if ("ack" in request) acknowledged.add(request.ack);
    else if ("send" in request) take(socket, request.send);
    else if (request.listen !== token) write(socket, { refused: "wrong token" });
    else {
      listeners.add(socket);
      write(socket, { ok: true });
      for (const message of said) if (!acknowledged.has(message.id)) write(socket, message);
    }
  }

  function take(socket: Socket, { chat, nonce, text, replyTo, ...request }: HubSend): void {
    const now = request.token === token ? fault : { refused: "wrong token" };
    fault = undefined;
    if (typeof now === "object") {
      write(socket, now);
      return;
    }
    const known = inChat(chat).find((one) => one.nonce === nonce);
    const messageId = known?.messageId ?? `out-${++ids}`;
    if (known === undefined)
      sent.set(chat, [
        ...inChat(chat),
        { messageId, text, nonce, ...(replyTo !== undefined && { replyTo }) },
      ]);
    for (const look of [...looks]) look();
    if (now === "cut") socket.destroy();
    else if (now !== "silence") write(socket, { sent: messageId });
  }

  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on("error", () => {});
    socket.on("close", () => {
      sockets.delete(socket);
      listeners.delete(socket);
    });
    createInterface({ input: socket })
      .on("error", () => {})
      .on("line", (line) => handle(socket, JSON.parse(line) as HubRequest));
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");

  return {
    port: (server.address() as AddressInfo).port,
    token,
    say(message) {
      const next = { ...message, id: `in-${++ids}`, at: Date.now() };
      said.push(next);
      for (const socket of listeners) write(socket, next);
      return next.id;
    },
    redeliver(chat) {
      const last = said.findLast((message) => message.chat === chat);
      if (last !== undefined) for (const socket of listeners) write(socket, last);
    },
    listSent: (chat) => inChat(chat).map(({ nonce: _, ...line }) => line),
    untilSent: (chat, count) =>
      new Promise((resolve) => {
        const look = (): void => {
          if (inChat(chat).length < count) return;
          looks.delete(look);
          resolve(inChat(chat));
        };
        looks.add(look);
        look();
      }),
    failNext(next) {
      fault = next;
    },
    async close() {
      for (const socket of sockets) socket.destroy();
      server.close();
      await once(server, "close");
    },
  };
}
