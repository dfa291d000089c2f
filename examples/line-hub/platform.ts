// A platform for Postrider: a hub that speaks lines of JSON over TCP, one line in, one line out. The gateway needs no more
// than `run` and `send`; docs/platforms.md explains both. 08-own-platform.test.ts runs the contract suite against it.

import { connect, type Socket } from "node:net";
import { createInterface } from "node:readline";
import {
  type Outbound,
  type Platform,
  PostriderError,
  platformTraits,
  type Receiver,
  type SendOutcome,
  source,
  textPart,
  toHtml,
} from "postrider/platform";
import type { HubAnswer, HubMessage } from "./protocol.ts";

export interface LineHubOptions {
  readonly host: string;
  readonly port: number;
  readonly account: string;
  readonly token: string;
}

export function lineHub(options: LineHubOptions): Platform {
  return {
    name: "line_hub",
    account: options.account,
    traits: {
      ...platformTraits("line_hub"), // for an unknown name: the values that promise least
      label: "Line hub",
      messageLimit: 4000,
      inbound: "redelivers", // the hub keeps a message until we acknowledge it
      outbound: "idempotent", // the hub ignores a nonce that it has seen
    },
    run: (receiver, signal) => listen(options, receiver, signal),
    send: (out, signal) => sendLine(options, out, signal),
  };
}

/** Receives until the signal aborts or the connection breaks. */
async function listen(options: LineHubOptions, receiver: Receiver, signal: AbortSignal): Promise<void> {
  if (signal.aborted) return;
  const socket = connect(options.port, options.host);
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const stop = (): void => resolve();
  signal.addEventListener("abort", stop, { once: true });
  socket.on("error", ({ message }) => reject(new PostriderError("platform_down", `The hub: ${message}.`)));
  socket.on("close", () => reject(new PostriderError("platform_down", "The hub closed the connection.")));
  socket.write(`${JSON.stringify({ listen: options.token })}\n`);
  createInterface({ input: socket })
    .on("error", () => {}) // the socket reports it
    .on("line", (line) => {
      const heard = JSON.parse(line) as HubMessage | HubAnswer;
      if ("refused" in heard) reject(new PostriderError("platform_refused", `The hub: ${heard.refused}.`));
      else if ("ok" in heard) receiver.markConnected();
      else if ("id" in heard) receive(receiver, heard, socket).catch(reject);
    });
  try {
    await promise;
  } finally {
    signal.removeEventListener("abort", stop);
    socket.destroy();
  }
}

/** Acknowledges the message after it is stored. If it is not stored, `run` rejects, and the hub brings it again. */
async function receive(receiver: Receiver, heard: HubMessage, socket: Socket): Promise<void> {
  const { id, chat, type, user, text, at } = heard;
  await receiver.receiveMessage({
    source: source({
      platform: "line_hub",
      chatId: chat,
      chatType: type,
      userId: user,
      userName: user,
    }),
    messageId: id,
    message: { role: "user", parts: [textPart(text)], at },
  });
  socket.write(`${JSON.stringify({ ack: id })}\n`);
}

/** A connection per message: one line out, one line back. It never throws; the outcome says what happened. */
function sendLine(
  { host, port, token }: LineHubOptions,
  out: Outbound,
  signal: AbortSignal,
): Promise<SendOutcome> {
  const { promise, resolve } = Promise.withResolvers<SendOutcome>();
  if (signal.aborted) return Promise.resolve({ state: "not_sent", reason: "It was stopped before." });
  if (out.parts.some(({ type }) => type !== "text"))
    return Promise.resolve({ state: "refused", reason: "The hub carries text only." });
  const markdown = out.parts.map((part) => (part.type === "text" ? part.text : "")).join("\n");
  const { text } = toHtml(markdown); // what a reader sees, without the marks of Markdown
  const { nonce, replyTo, target } = out;
  const socket = connect(port, host);
  let isWritten = false;
  const fail = (reason: string): void => {
    // Once the line is out, nobody knows whether it arrived. The nonce makes a repetition harmless.
    resolve({ state: isWritten ? "unknown" : "not_sent", reason });
    socket.destroy();
  };
  const stop = (): void => fail("It was stopped.");
  signal.addEventListener("abort", stop, { once: true });
  socket.on("connect", () => {
    isWritten = true;
    socket.write(`${JSON.stringify({ send: { token, chat: target.chatId, nonce, replyTo, text } })}\n`);
  });
  socket.on("error", ({ message }) => fail(`The hub cannot be reached: ${message}.`));
  socket.on("close", () => fail("The hub closed the connection without an answer."));
  createInterface({ input: socket })
    .on("error", () => {})
    .on("line", (line) => {
      resolve(toOutcome(JSON.parse(line) as HubAnswer));
      socket.destroy();
    });
  return promise.finally(() => signal.removeEventListener("abort", stop));
}

function toOutcome(answer: HubAnswer): SendOutcome {
  if ("sent" in answer) return { state: "sent", messageId: answer.sent };
  if ("refused" in answer) return { state: "refused", reason: answer.refused };
  if ("wait" in answer)
    return { state: "not_sent", reason: "The hub asks to wait.", retryAfterMs: answer.wait };
  if ("error" in answer) return { state: "not_sent", reason: answer.error, cause: "message" };
  return { state: "not_sent", reason: "The hub is busy." };
}
