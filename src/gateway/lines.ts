import { around } from "../commands/around.ts";
import { type Choice, type Place, type Reply, shortened } from "../commands/command.ts";
import { CHAT_COMMANDS, chatCommand, runChatCommand } from "../commands/table.ts";
import type { Role } from "../core/access.ts";
import { type CommandLine, findCommand } from "../core/command-grammar.ts";
import type { Buttons, NewDelivery } from "../core/delivery.ts";
import { PostriderError } from "../core/errors.ts";
import type { Part } from "../core/message.ts";
import type { Source } from "../core/source.ts";
import type { Blob } from "../core/turn.ts";
import { blobOf } from "../sessions/message-input.ts";
import { sendingOn, textDeliveries } from "../turns/outgoing.ts";
import { type Connected, type Flow, inBackground } from "./flow.ts";
import { messengerPlace } from "./messenger-place.ts";
import type { About } from "./tell-left.ts";

/** A command that was accepted and is to be done now. */
export interface Line extends CommandLine {
  readonly inbox: number;
  readonly source: Source;
  readonly role: Role;
  readonly messageId: string;
  /** What the reply refers to, where others read along; a press is no message. */
  readonly replyTo?: string;
}

/** Commands whose arguments open doors. */
const SECRET: ReadonlySet<string> = new Set(["pair", "start"]);
const MOST_BUTTONS = 8;
const LONGEST_LABEL = 48;

/** Does what a line says, and stores the reply as the line's end. `say` takes up what is to be said again. */
export async function runLine(
  flow: Flow,
  connected: Connected,
  line: Line,
  say: (words: string, patiently: boolean) => Promise<void>,
): Promise<void> {
  const { name, args, source } = line;
  const about = { command: name, platform: source.platform, chat: source.chatId };
  flow.log.info(about, "a command");
  inBackground(
    flow.log,
    "a hook",
    flow.hooks.emit(`command:${name}`, { ...about, ...(!SECRET.has(name) && { args }) }),
  );
  const place = await placeFor(flow, line);
  const before = await place.talk.look();
  const reply = await replyTo(flow, place, line);
  if (reply.say !== undefined) await say(reply.say, reply.patiently ?? false);
  await send(connected, line, reply, await buttonsFor(place, line, reply));
  const after = reply.moved ? await place.talk.look() : undefined;
  if (before !== undefined && after !== undefined && after.session.id !== before.session.id) {
    const [from, to] = [before.session.id, after.session.id];
    // Nobody in the chat waits for whoever listens.
    inBackground(flow.log, "a hook", tellOfChange(flow, { ...about, session: from, reason: name }, to));
  }
}

async function tellOfChange(flow: Flow, left: About, to: string): Promise<void> {
  await flow.hooks.emit("session:end", left);
  await flow.hooks.emit("session:reset", { ...left, session: to, previous: left.session });
}

/** A command that changes something needs a place to do so: the first words of a person may be one. */
async function placeFor(flow: Flow, { source, role, name }: Line): Promise<Place> {
  const place = await messengerPlace(flow, source, role);
  const command = findCommand(CHAT_COMMANDS, name);
  const isLooking = command === undefined || command.looks === true;
  if (isLooking || (await place.talk.look()) !== undefined) return place;
  await place.talk.open();
  return messengerPlace(flow, source, role);
}

async function replyTo(flow: Flow, place: Place, { name, args }: Line): Promise<Reply> {
  try {
    const reply = await runChatCommand(place, name, args);
    if (reply.around === undefined) return reply;
    const shown = await around(place, reply.around);
    return { ...reply, text: reply.text === "" ? shown : `${reply.text}\n\n${shown}` };
  } catch (error) {
    if (error instanceof PostriderError && error.code !== "internal") return { text: error.message };
    flow.log.error({ error, command: name }, "a command failed");
    return { text: `/${name} failed; the log says why. Nothing of it is known to have happened.` };
  }
}

async function buttonsFor(place: Place, { name, args }: Line, reply: Reply): Promise<Buttons | undefined> {
  if (reply.moved || reply.leave) return undefined;
  const choices = reply.choices ?? (await chooseFrom(place, name, args));
  if (choices.length === 0) return undefined;
  return choices
    .slice(0, MOST_BUTTONS)
    .map(({ label, line }) => [{ label: shortened(label, LONGEST_LABEL), line }]);
}

async function chooseFrom(place: Place, name: string, args: string): Promise<readonly Choice[]> {
  try {
    return (await chatCommand(name).choose?.(place, args)) ?? [];
  } catch {
    return []; // the reply says what is wrong
  }
}

async function send(
  { platform, outbox }: Connected,
  line: Line,
  reply: Reply,
  buttons: Buttons | undefined,
): Promise<void> {
  const { source } = line;
  const { replyTo } = line;
  const made = textDeliveries(source, reply.text, { ...sendingOn(platform), replyTo });
  const blobs: Blob[] = [];
  if (reply.document !== undefined) {
    const blob = blobOf(new TextEncoder().encode(reply.document.text), "document");
    blobs.push(blob);
    const { name } = reply.document;
    const size = blob.bytes.byteLength;
    const file: Part = { type: "file", blob: blob.hash, mimeType: "text/plain", size, name };
    const isReply = replyTo !== undefined && (made.length === 0 || platform.replies === "all");
    made.push({ target: source, parts: [file], ...(isReply && { replyTo }) });
  }
  const last = made.at(-1);
  const all: NewDelivery[] =
    last === undefined || buttons === undefined ? made : made.with(-1, { ...last, buttons });
  await outbox.put(source, all, { blobs, line: line.inbox });
}
