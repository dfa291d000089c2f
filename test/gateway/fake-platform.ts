import { createHash } from "node:crypto";
import { PostriderError } from "../../src/core/errors.ts";
import { getText, type NewMessage, type Part, textPart } from "../../src/core/message.ts";
import type { PlatformTraits } from "../../src/core/platforms.ts";
import { type Source, source } from "../../src/core/source.ts";
import type { Blob } from "../../src/core/turn.ts";
import type { Inbound, Outbound, Platform, Receiver, SendOutcome } from "../../src/ports/platform.ts";
import { BOT } from "./messenger.ts";
import { type EditRequest, type FileJson, LONGEST_TEXT, type SendRequest, type Update } from "./protocol.ts";

export interface FakePlatformOptions {
  readonly url: string;
  readonly token: string;
  readonly account?: string;
  readonly name?: string;
  /** What can be known of a message after a crash. Default: unknowable. */
  readonly outbound?: PlatformTraits["outbound"];
  readonly draftEveryMs?: number;
}

/** The bot's client of the simulated messenger. */
export function fakePlatform(options: FakePlatformOptions): Platform {
  const { url, token, account = BOT, name = "fake", outbound = "unknowable", draftEveryMs } = options;
  const cursorName = `${name}:${account}`;
  const call = caller(url, token);

  async function sending(name: "send" | "edit", body: SendRequest | EditRequest, signal: AbortSignal) {
    const reply = await call(name, signal, body);
    switch (reply.state) {
      case "unreachable":
        return { state: "not_sent", reason: "The messenger cannot be reached." } as const;
      case "broken":
        return { state: "unknown", reason: "The connection to the messenger broke." } as const;
      default:
        return reply;
    }
  }

  const platform: Platform = {
    name,
    account,
    traits: {
      label: "Fake",
      redactable: false,
      rawIdsForMentions: false,
      messageLimit: LONGEST_TEXT,
      threads: true,
      inbound: "redelivers",
      outbound,
    },
    async run(receiver, signal) {
      let offset = Number((await receiver.getCursor(cursorName)) ?? 0);
      let isConnected = false;
      while (!signal.aborted) {
        const wait = isConnected ? "" : "&wait=0"; // so that a failure is reported early
        const reply = await call(`updates?offset=${offset}${wait}`, signal);
        if (signal.aborted) return;
        if (reply.state !== "answered" || reply.status !== 200) throw connectionFailed(reply);
        if (!isConnected) receiver.markConnected();
        isConnected = true;
        const updates = reply.body.updates as readonly Update[];
        await handOver(updates, (id) => ({ name: cursorName, value: String(id) }));
        offset = Math.max(offset, ...updates.map(({ id }) => id + 1));
      }

      /** Chats do not wait for each other, so the cursor stays before the first update that is not stored. */
      async function handOver(updates: readonly Update[], cursorAt: (id: number) => Inbound["cursor"]) {
        const open = new Set(updates.map(({ id }) => id));
        const byChat = [...Map.groupBy(updates, ({ chat }) => chat).values()];
        const ends = await Promise.allSettled(
          byChat.map(async (own) => {
            for (const update of own) {
              const before = [...open].find((id) => id < update.id);
              const cursor = cursorAt(before ?? update.id + 1);
              await handOverOne(receiver, update, name, cursor);
              open.delete(update.id);
            }
          }),
        );
        const failed = ends.find((end) => end.status === "rejected");
        if (failed !== undefined) throw failed.reason;
      }
    },
    async send(out, signal) {
      const { thread, files } = await addressed(out);
      const chat = out.target.chatId;
      const body: SendRequest = {
        chat,
        text: getText(out),
        nonce: out.nonce,
        ...(thread !== undefined && { thread }),
        ...(out.replyTo !== undefined && { replyTo: out.replyTo }),
        ...(out.buttons !== undefined && { buttons: out.buttons }),
        ...(files.length > 0 && { files }),
      };
      return outcomeOf(await sending("send", body, signal));
    },
    async edit(out, messageId, signal) {
      const body: EditRequest = {
        chat: out.target.chatId,
        messageId,
        text: getText(out),
        ...(out.buttons !== undefined && { buttons: out.buttons }),
      };
      const reply = await sending("edit", body, signal);
      return reply.state === "answered" && reply.status === 404 ? { state: "gone" } : outcomeOf(reply);
    },
    ...(outbound === "can_be_looked_up" && {
      async lookUp(out: Outbound, signal: AbortSignal) {
        const reply = await call(`sent?nonce=${encodeURIComponent(out.nonce)}`, signal);
        if (reply.state === "answered" && reply.status === 404) return undefined;
        if (reply.state === "answered" && reply.status === 200) return String(reply.body.messageId);
        throw connectionFailed(reply);
      },
    }),
    async sendTyping({ chatId, threadId }, signal) {
      await call("typing", signal, { chat: chatId, ...(threadId !== undefined && { thread: threadId }) });
    },
    async setMenu(commands, signal) {
      await call("menu", signal, { commands });
    },
    ...(draftEveryMs !== undefined && { getDraftIntervalMs: () => draftEveryMs }),
  };
  return platform;
}

type Reply =
  | { readonly state: "answered"; readonly status: number; readonly body: Readonly<Record<string, unknown>> }
  /** Nothing was sent. */
  | { readonly state: "unreachable" }
  /** It was sent, and the outcome is unknown. */
  | { readonly state: "broken" };

type Caller = (call: string, signal: AbortSignal, body?: object) => Promise<Reply>;

function caller(url: string, token: string): Caller {
  return async (name, signal, body) => {
    if (signal.aborted) return { state: "unreachable" };
    try {
      const response = await fetch(`${url}/bot/${name}`, {
        method: body === undefined ? "GET" : "POST",
        headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
        ...(body !== undefined && { body: JSON.stringify(body) }),
        signal,
      });
      const answer = (await response.json()) as Readonly<Record<string, unknown>>;
      return { state: "answered", status: response.status, body: answer };
    } catch (error) {
      const { code } = ((error as Error).cause ?? {}) as { code?: string };
      return { state: code !== undefined && NEVER_CONNECTED.has(code) ? "unreachable" : "broken" };
    }
  };
}

const NEVER_CONNECTED = new Set(["ECONNREFUSED", "ENOTFOUND", "EHOSTUNREACH", "UND_ERR_CONNECT_TIMEOUT"]);

function outcomeOf(
  reply: Extract<Reply, { state: "answered" }> | Exclude<SendOutcome, { state: "sent" }>,
): SendOutcome {
  if (reply.state !== "answered") return reply;
  const { status, body } = reply;
  if (status === 200) return { state: "sent", messageId: String(body.messageId) };
  const reason = `The messenger says: ${body.error}`;
  if (status === 429) return { state: "not_sent", reason, retryAfterMs: Number(body.retryAfterMs) };
  if (status === 500) return { state: "not_sent", reason, cause: "message" };
  return { state: status > 500 ? "not_sent" : "refused", reason };
}

function connectionFailed(reply: Reply): PostriderError {
  if (reply.state === "answered" && reply.status === 401)
    return new PostriderError("platform_refused", "The messenger does not know this token: check it.");
  const why = reply.state === "answered" ? `answered ${reply.status}` : "cannot be reached";
  return new PostriderError("platform_down", `The messenger ${why}.`);
}

async function addressed(out: Outbound): Promise<{ thread?: string; files: readonly FileJson[] }> {
  const files: FileJson[] = [];
  for (const part of out.parts) {
    if (part.type !== "image" && part.type !== "file") continue;
    const bytes = await out.blob(part.blob);
    if (bytes === undefined) continue;
    const base64 = Buffer.from(bytes).toString("base64");
    files.push({ name: part.name ?? part.blob, mimeType: part.mimeType, base64 });
  }
  const { threadId } = out.target;
  return { files, ...(threadId !== undefined && { thread: threadId }) };
}

async function handOverOne(
  receiver: Receiver,
  update: Update,
  platform: string,
  cursor: Inbound["cursor"],
): Promise<void> {
  if (update.from === BOT) return; // our own message
  const from: Source = source({
    platform,
    chatId: update.chat,
    chatType: update.type,
    userId: update.from,
    userName: update.from,
    threadId: update.thread,
  });
  const { messageId } = update;
  const about = { source: from, messageId, ...(cursor !== undefined && { cursor }) };
  switch (update.kind) {
    case "message":
      return receiver.receiveMessage({ ...about, ...messageOf(update, update.at, platform) });
    case "edited": {
      const { saidAt } = update;
      return receiver.receiveEdit({ ...about, ...messageOf(update, update.at, platform), sentAt: saidAt });
    }
    case "deleted":
      return receiver.receiveDeletion(about);
    case "pressed":
      return receiver.receivePress({ ...about, messageId: update.press, line: update.line });
  }
}

function messageOf(
  update: Extract<Update, { kind: "message" | "edited" }>,
  at: number,
  platform: string,
): { readonly message: NewMessage; readonly blobs?: readonly Blob[] } {
  const files = update.kind === "message" ? (update.files ?? []) : [];
  const blobs = files.map(({ base64 }) => {
    const bytes = new Uint8Array(Buffer.from(base64, "base64"));
    return { hash: createHash("sha256").update(bytes).digest("hex"), bytes };
  });
  const parts: Part[] = files.flatMap(({ name, mimeType }, index) => {
    const { hash, bytes } = blobs[index] ?? {};
    if (hash === undefined || bytes === undefined) return [];
    const type = mimeType.startsWith("image/") ? ("image" as const) : ("file" as const);
    return [{ type, blob: hash, mimeType, size: bytes.length, name }];
  });
  if (update.text !== "") parts.unshift(textPart(update.text));
  const origin = {
    platform,
    platformMessageId: update.messageId,
    userId: update.from,
    userName: update.from,
  };
  return { message: { role: "user", parts, at, origin }, ...(blobs.length > 0 && { blobs }) };
}
