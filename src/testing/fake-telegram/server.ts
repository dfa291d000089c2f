import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { type BotAccount, type BotApiObject, createBotAccount } from "./bot-account.ts";
import { createFakeControls } from "./fake-controls.ts";
import { BOT_API_METHODS, BotApiError } from "./methods.ts";
import { type MultipartForm, parseMultipart } from "./multipart.ts";
import type { FakeControls } from "./types.ts";

export interface FakeTelegramOptions {
  /** The known bots. Default: one with the token `42:fake-token` and the name `fake_bot`. */
  readonly accounts?: readonly { readonly token: string; readonly username: string }[];
  readonly port?: number;
  /** The clock of messages and flood limits. */
  readonly now?: () => number;
}

/** A Bot API server with simulated people. Methods called on it directly apply to the first bot. */
export interface FakeTelegram extends FakeControls {
  /** The root URL, instead of https://api.telegram.org */
  readonly url: string;
  readonly token: string;
  /** The controls of another bot. */
  as(token: string): FakeControls;
  close(): Promise<void>;
}

/** Long, so that no idle connection is closed at the moment of its reuse: only injected faults may occur. */
export const KEEP_ALIVE_MS = 600_000;

export async function startFakeTelegram(options: FakeTelegramOptions = {}): Promise<FakeTelegram> {
  const { accounts = [{ token: "42:fake-token", username: "fake_bot" }], port = 0, now = Date.now } = options;
  const known = new Map(accounts.map(({ token, username }) => [token, createBotAccount(token, username)]));
  const controls = new Map([...known].map(([token, to]) => [token, createFakeControls(to, now)]));
  const server = createServer((request, response) => {
    serveRequest(known, now, request, response).catch((error: unknown) => {
      response.destroy(error instanceof Error ? error : undefined);
    });
  });
  server.keepAliveTimeout = KEEP_ALIVE_MS;
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(port, "127.0.0.1", resolve);
  });
  const first = accounts[0];
  const main = first && controls.get(first.token);
  if (first === undefined || main === undefined) throw new Error("A fake Telegram needs at least one bot.");
  return {
    ...main,
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    token: first.token,
    as(token) {
      const found = controls.get(token);
      if (found === undefined) throw new Error("There is no bot with this token.");
      return found;
    },
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

async function serveRequest(
  known: ReadonlyMap<string, BotAccount>,
  now: () => number,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  const path = decodeURIComponent(request.url ?? "");
  const [, isFile, token = "", rest = ""] = /^\/(file\/)?bot([^/]+)\/(.*)$/.exec(path) ?? [];
  const to = known.get(token);
  if (to === undefined) return sendError(response, new BotApiError(401, "Unauthorized"));
  const { fault, delayMs } = to.faults.takeFault(isFile === undefined ? rest : "download");
  if (delayMs > 0) await sleep(delayMs);
  if (fault?.kind === "cut") return cutConnection(request);
  if (fault?.kind === "hang" && fault.after !== true) return; // until the client gives up
  if (fault?.kind === "badGateway") {
    response.writeHead(502, { "content-type": "text/html" }).end("<html><h1>502 Bad Gateway</h1></html>");
    return;
  }
  let heard: BotAccount["calls"][number] | undefined;
  try {
    if (fault?.kind === "error") throw new BotApiError(fault.code, fault.description, fault.parameters);
    if (isFile !== undefined) return sendFile(to, rest, response);
    const form = readBody(request.headers["content-type"] ?? "", Buffer.concat(chunks));
    heard = { method: rest, payload: form.payload, at: now() };
    to.calls.push(heard);
    to.notifyChanged();
    const result =
      rest === "getUpdates"
        ? await pollUpdates(to, form.payload, response)
        : BOT_API_METHODS[rest]?.(to, { ...form, now: now() });
    if (fault?.kind === "dropAfter" || fault?.kind === "hang") heard.isDropped = true;
    if (fault?.kind === "dropAfter") return cutConnection(request);
    if (fault?.kind === "hang") return;
    if (result === undefined) throw new BotApiError(404, "Not Found: method not found");
    response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify({ ok: true, result }));
  } catch (error) {
    if (!(error instanceof BotApiError)) throw error;
    if (heard !== undefined) heard.refused = error.code;
    sendError(response, error);
  }
}

function cutConnection(request: IncomingMessage): void {
  request.socket.destroy();
}

function sendError(response: ServerResponse, { code, message, parameters }: BotApiError): void {
  const answer = { ok: false, error_code: code, description: message, ...(parameters && { parameters }) };
  response.writeHead(code, { "content-type": "application/json" }).end(JSON.stringify(answer));
}

function sendFile(to: BotAccount, path: string, response: ServerResponse): void {
  const found = [...to.files.values()].find((file) => file.path === path);
  if (found === undefined) throw new BotApiError(404, "Not Found");
  response.writeHead(200, { "content-type": "application/octet-stream" }).end(found.bytes);
}

function readBody(
  type: string,
  body: Buffer,
): { readonly payload: BotApiObject; readonly files: MultipartForm["files"] } {
  const boundary = /multipart\/form-data;\s*boundary=(.+)$/i.exec(type)?.[1];
  if (boundary === undefined) {
    return {
      payload: body.length === 0 ? {} : (JSON.parse(body.toString()) as BotApiObject),
      files: new Map(),
    };
  }
  const { fields, files } = parseMultipart(body, boundary);
  // In a form, values other than text are JSON.
  const payload = Object.fromEntries(
    Object.entries(fields).map(([name, value]) => [name, parseField(name, value)]),
  );
  return { payload, files };
}

function parseField(name: string, value: string): unknown {
  if (name === "text" || name === "caption" || !/^[[{]|^(?:true|false|-?\d+)$/.test(value)) return value;
  return JSON.parse(value) as unknown;
}

/** The newest poll gets the updates; an older one ends with a conflict error. */
const activePolls = new WeakMap<BotAccount, () => void>();

/** Returns unconfirmed updates at once, or waits for the next one. */
async function pollUpdates(
  to: BotAccount,
  payload: BotApiObject,
  response: ServerResponse,
): Promise<unknown> {
  if (to.hasWebhook) {
    throw new BotApiError(
      409,
      "Conflict: can't use getUpdates method while webhook is active; use deleteWebhook first",
    );
  }
  let isTerminated = false;
  let isLeft = false;
  activePolls.get(to)?.();
  activePolls.set(to, () => {
    isTerminated = true;
    to.notifyChanged();
  });
  const terminate = activePolls.get(to);
  const offset = typeof payload.offset === "number" ? payload.offset : 0;
  // An offset far beyond the last update is from before the numbers restarted.
  const from = offset > to.nextUpdate + 10 ? 0 : offset;
  while ((to.updates[0]?.id ?? from) < from) to.updates.shift();
  let isLate = false;
  const timer = setTimeout(
    () => {
      isLate = true;
      to.notifyChanged();
    },
    Number(payload.timeout ?? 0) * 1000,
  );
  response.once("close", () => {
    isLeft = true;
    to.notifyChanged();
  });
  to.isPolled = to.updates.length === 0 && Number(payload.timeout ?? 0) > 0;
  to.notifyChanged();
  await to.waitUntil(
    () => to.updates.length > 0 || isLate || isTerminated || isLeft || Number(payload.timeout ?? 0) === 0,
  );
  to.isPolled = false;
  clearTimeout(timer);
  if (activePolls.get(to) === terminate) activePolls.delete(to);
  if (isTerminated) {
    throw new BotApiError(
      409,
      "Conflict: terminated by other getUpdates request; make sure that only one bot instance is running",
    );
  }
  const limit = Math.min(100, Number(payload.limit ?? 100));
  return to.updates.slice(0, limit).map(({ id, body }) => ({ update_id: id, ...body }));
}
