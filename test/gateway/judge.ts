/**
 * Simulated messengers in a separate process. The gateway is judged by the events here, not by its own reports. Prints
 * one line, `{ url, control }`, and ends with its parent process. Each messenger is opened for one test and has one bot,
 * which is identified by its token.
 */
import { randomUUID } from "node:crypto";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { endWithParent, say } from "../support/child.ts";
import { type Messenger, messenger } from "./messenger.ts";
import {
  type EditRequest,
  type Fault,
  LONGEST_TEXT,
  type MessengerOptions,
  type PlannedFault,
  type SendRequest,
} from "./protocol.ts";

/** The default time limit of a wait. */
const LONGEST_WAIT_MS = 25_000;

interface Room {
  readonly token: string;
  state: Messenger;
  /** Answers to the bot that are held until they are released. */
  held: (() => void)[];
  /** The bot's open poll. */
  poll?: { superseded(): void } | undefined;
}

const rooms = new Map<string, Room>();
/** Known to the test. */
const control = `control-${randomUUID()}`;

const server = createServer((request, response) => {
  handle(request, response).catch((error: unknown) => {
    if (!response.headersSent) answer(response, 500, { error: String((error as Error).message) });
    else response.destroy();
  });
});
server.keepAliveTimeout = 600_000;
server.listen(0, "127.0.0.1", () => {
  say({ url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, control });
});
endWithParent();

async function handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const { pathname, searchParams } = new URL(request.url ?? "/", "http://judge");
  const [, side = "", name = ""] = pathname.split("/");
  const key = request.headers.authorization?.replace(/^Bearer /, "") ?? "";
  const body = request.method === "POST" ? await read(request) : undefined;
  const isControl = side === "control" && key === control;
  if (isControl && name === "open")
    return answer(response, 200, { token: open(body as MessengerOptions).token });
  const room = rooms.get(isControl ? String(request.headers["x-token"]) : key);
  if (room === undefined || isControl !== (side === "control"))
    return answer(response, 401, { error: "Who are you?" });
  const handler = (isControl ? CONTROL : BOT_CALLS)[name];
  if (handler === undefined) return answer(response, 404, { error: `There is no ${side} call ${name}.` });
  await handler({ room, response, body, query: searchParams });
}

function open(options: MessengerOptions): Room {
  const room: Room = { token: `bot-${randomUUID()}`, state: messenger(options), held: [] };
  rooms.set(room.token, room);
  return room;
}

interface Call {
  readonly room: Room;
  readonly response: ServerResponse;
  readonly body: unknown;
  readonly query: URLSearchParams;
}
type Handler = (call: Call) => void | Promise<void>;

const BOT_CALLS: Readonly<Record<string, Handler>> = {
  async updates({ room, response, query }) {
    if (await failed(room.state.faultOf("updates"), response)) return;
    const offset = Number(query.get("offset") ?? 0);
    const current = room.state;
    if (room.poll !== undefined) {
      current.witness({ kind: "conflict" });
      room.poll.superseded();
    }
    if (offset > 0) current.updates(offset);
    await new Promise<void>((resolve) => {
      const end = (status: number): void => {
        stop();
        clearTimeout(timer);
        if (room.poll === own) room.poll = undefined;
        answer(response, status, { updates: status === 200 ? current.updates(offset) : [] });
        resolve();
      };
      const look = (): void => {
        if (current.updates(offset).length > 0) end(200);
      };
      const own = { superseded: () => end(409) };
      room.poll = own;
      const stop = current.onUpdate(look);
      const timer = setTimeout(end, waitOf(query), 200);
      response.on("close", () => response.writableEnded || end(200));
      look();
    });
  },
  async send({ room, response, body }) {
    const request = body as SendRequest;
    const fault = room.state.faultOf("send", request.chat, request.text);
    if (await failed(fault, response)) return;
    if (request.text.length > LONGEST_TEXT) return answer(response, 400, { error: "The text is too long." });
    if (request.text === "" && !request.files?.length) return answer(response, 400, { error: "No text." });
    const sent = room.state.send(request);
    if (sent === undefined) return answer(response, 403, { error: "Nobody has spoken to you there." });
    taken(room, fault, response, sent);
  },
  async edit({ room, response, body }) {
    const request = body as EditRequest;
    const fault = room.state.faultOf("edit", request.chat, request.text);
    if (await failed(fault, response)) return;
    if (request.text.length > LONGEST_TEXT) return answer(response, 400, { error: "The text is too long." });
    const edited = room.state.edit(request);
    if (edited === undefined) return answer(response, 404, { error: "There is no such message." });
    taken(room, fault, response, edited);
  },
  async sent({ room, response, query }) {
    if (await failed(room.state.faultOf("sent"), response)) return;
    const found = room.state.lookUp(query.get("nonce") ?? "");
    answer(response, found === undefined ? 404 : 200, found ?? { error: "There is no such message." });
  },
  typing({ room, response, body }) {
    const { chat, thread } = body as { chat: string; thread?: string };
    room.state.witness({ kind: "typing", chat, ...(thread !== undefined && { thread }) });
    answer(response, 200, {});
  },
  menu({ room, response, body }) {
    room.state.witness({ kind: "menu", commands: (body as { commands: [] }).commands });
    answer(response, 200, {});
  },
};

const CONTROL: Readonly<Record<string, Handler>> = {
  reset({ room, response, body }) {
    room.poll?.superseded();
    room.state = messenger(body as MessengerOptions);
    answer(response, 200, {});
  },
  chances: ({ room, response, body }) =>
    done(response, room.state.chances((body as MessengerOptions).chances)),
  say: ({ room, response, body }) =>
    answer(response, 200, room.state.say(body as Parameters<Messenger["say"]>[0])),
  change: ({ room, response, body }) => done(response, room.state.change(body as never)),
  press: ({ room, response, body }) => done(response, room.state.press(body as never)),
  again: ({ room, response, body }) => done(response, room.state.bringAgain((body as { chat: string }).chat)),
  plan: ({ room, response, body }) => done(response, room.state.plan(body as PlannedFault)),
  effect: ({ room, response, body }) =>
    done(response, room.state.witness({ kind: "effect", name: (body as { name: string }).name })),
  release({ room, response }) {
    const all = room.held;
    room.held = [];
    for (const release of all) release();
    answer(response, 200, { released: all.length });
  },
  /** All events after a number, as soon as there is one. */
  async report({ room, response, query }) {
    const after = Number(query.get("after") ?? 0);
    const current = room.state;
    await new Promise<void>((resolve) => {
      const end = (): void => {
        stop();
        clearTimeout(timer);
        answer(response, 200, { witnessed: current.witnessed.slice(after) });
        resolve();
      };
      const look = (): void => {
        if (current.witnessed.length > after) end();
      };
      const stop = current.onWitnessed(look);
      const timer = setTimeout(end, waitOf(query));
      look();
    });
  },
};

/** Whether the request ends here, before it is accepted. */
async function failed(fault: Fault | undefined, response: ServerResponse): Promise<boolean> {
  switch (fault?.kind) {
    case "delay":
      await new Promise((resolve) => setTimeout(resolve, fault.ms));
      return false;
    case "fail":
      answer(response, 503, { error: "Not now." });
      return true;
    case "error":
      answer(response, 500, { error: "This cannot be shown." });
      return true;
    case "refuse":
      answer(response, 403, { error: "You are not wanted here." });
      return true;
    case "wait":
      answer(response, 429, { error: "Too fast.", retryAfterMs: fault.ms });
      return true;
    case "drop":
      response.destroy();
      return true;
    default:
      return false;
  }
}

/** The request was accepted; the fault determines the answer. */
function taken(room: Room, fault: Fault | undefined, response: ServerResponse, result: unknown): void {
  if (fault?.kind === "cut") response.destroy();
  else if (fault?.kind === "hold") room.held.push(() => answer(response, 200, result));
  else answer(response, 200, result);
}

function waitOf(query: URLSearchParams): number {
  return Math.min(Number(query.get("wait") ?? LONGEST_WAIT_MS), LONGEST_WAIT_MS);
}

function done(response: ServerResponse, _nothing: unknown): void {
  answer(response, 200, {});
}

function answer(response: ServerResponse, status: number, body: unknown): void {
  if (response.writableEnded || response.destroyed) return;
  response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body));
}

async function read(request: IncomingMessage): Promise<unknown> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return JSON.parse(Buffer.concat(chunks).toString("utf8")) as unknown;
}
