import { type ChatCommandContext, type Choice, type CommandReply, shortenLine } from "../commands/command.ts";
import { formatMessagesAround } from "../commands/messages-around.ts";
import { findChatCommand, runChatCommand } from "../commands/table.ts";
import type { AccessRole } from "../core/access.ts";
import type { CommandLine } from "../core/command-grammar.ts";
import type { Buttons, NewDelivery } from "../core/delivery.ts";
import { PostriderError } from "../core/errors.ts";
import type { Part } from "../core/message.ts";
import type { Source } from "../core/source.ts";
import type { Blob } from "../core/turn.ts";
import { createBlob } from "../sessions/message-input.ts";
import { buildTextDeliveries, getSendOptions } from "../turns/text-deliveries.ts";
import { type Flow, type PlatformConnection, runInBackground } from "./flow.ts";
import { buildMessengerCommandContext } from "./messenger-command-context.ts";
import type { SessionHookContext } from "./report-session-left.ts";

/** A command that was accepted and is to be done now. */
export interface InboxCommand extends CommandLine {
  readonly inbox: number;
  readonly source: Source;
  readonly role: AccessRole;
  readonly messageId: string;
  /** What the reply refers to, where others read along; a press is no message. */
  readonly replyTo?: string;
}

/** Commands whose arguments open doors. */
const SECRET: ReadonlySet<string> = new Set(["pair", "start"]);
const MOST_BUTTONS = 8;
const LONGEST_LABEL = 48;

/** Does what a line says, and stores the reply as the line's end. `say` takes up what is to be said again. */
export async function runInboxCommand(
  flow: Flow,
  connected: PlatformConnection,
  line: InboxCommand,
  say: (words: string, patiently: boolean) => Promise<void>,
): Promise<void> {
  const { name, args, source } = line;
  const about = { command: name, platform: source.platform, chat: source.chatId };
  flow.log.info(about, "a command");
  runInBackground(
    flow.log,
    "a hook",
    flow.hooks.emit(`command:${name}`, { ...about, ...(!SECRET.has(name) && { args }) }),
  );
  const place = await openCommandContext(flow, line);
  const before = await place.chat.findCurrent();
  const reply = await computeReply(flow, place, line);
  if (reply.say !== undefined) await say(reply.say, reply.queued ?? false);
  await sendReply(connected, line, reply, await buildButtons(place, line, reply));
  const after = reply.moved ? await place.chat.findCurrent() : undefined;
  if (before !== undefined && after !== undefined && after.session.id !== before.session.id) {
    const [from, to] = [before.session.id, after.session.id];
    // Nobody in the chat waits for whoever listens.
    runInBackground(
      flow.log,
      "a hook",
      emitSessionChange(flow, { ...about, session: from, reason: name }, to),
    );
  }
}

async function emitSessionChange(flow: Flow, left: SessionHookContext, to: string): Promise<void> {
  await flow.hooks.emit("session:end", left);
  await flow.hooks.emit("session:reset", { ...left, session: to, previous: left.session });
}

/** A command that changes something needs a place to do so: the first words of a person may be one. */
async function openCommandContext(
  flow: Flow,
  { source, role, name }: InboxCommand,
): Promise<ChatCommandContext> {
  const place = await buildMessengerCommandContext(flow, source, role);
  const command = findChatCommand(name, flow.customCommands);
  const isLooking = command === undefined || command.isReadOnly === true;
  if (isLooking || (await place.chat.findCurrent()) !== undefined) return place;
  await place.chat.open();
  return buildMessengerCommandContext(flow, source, role);
}

async function computeReply(
  flow: Flow,
  place: ChatCommandContext,
  { name, args }: InboxCommand,
): Promise<CommandReply> {
  try {
    const reply = await runChatCommand(place, name, args);
    if (reply.around === undefined) return reply;
    const shown = await formatMessagesAround(place, reply.around);
    return { ...reply, text: reply.text === "" ? shown : `${reply.text}\n\n${shown}` };
  } catch (error) {
    if (error instanceof PostriderError && error.code !== "internal") return { text: error.message };
    flow.log.error({ error, command: name }, "a command failed");
    return { text: `/${name} failed; the log says why. Nothing of it is known to have happened.` };
  }
}

async function buildButtons(
  place: ChatCommandContext,
  { name, args }: InboxCommand,
  reply: CommandReply,
): Promise<Buttons | undefined> {
  if (reply.moved || reply.leave) return undefined;
  const choices = reply.choices ?? (await listChoices(place, name, args));
  if (choices.length === 0) return undefined;
  return choices
    .slice(0, MOST_BUTTONS)
    .map(({ label, line }) => [{ label: shortenLine(label, LONGEST_LABEL), line }]);
}

async function listChoices(
  place: ChatCommandContext,
  name: string,
  args: string,
): Promise<readonly Choice[]> {
  try {
    return (await findChatCommand(name, place.customCommands)?.listChoices?.(place, args)) ?? [];
  } catch {
    return []; // the reply says what is wrong
  }
}

async function sendReply(
  { platform, outbox }: PlatformConnection,
  line: InboxCommand,
  reply: CommandReply,
  buttons: Buttons | undefined,
): Promise<void> {
  const { source } = line;
  const { replyTo } = line;
  const made = buildTextDeliveries(source, reply.text, { ...getSendOptions(platform), replyTo });
  const blobs: Blob[] = [];
  if (reply.document !== undefined) {
    const blob = createBlob(new TextEncoder().encode(reply.document.text), "document");
    blobs.push(blob);
    const { name } = reply.document;
    const size = blob.bytes.byteLength;
    const file: Part = { type: "file", blob: blob.hash, mimeType: "text/plain", size, name };
    const isReply = replyTo !== undefined && (made.length === 0 || platform.replyMode === "all");
    made.push({ target: source, parts: [file], ...(isReply && { replyTo }) });
  }
  const last = made.at(-1);
  const all: NewDelivery[] =
    last === undefined || buttons === undefined ? made : made.with(-1, { ...last, buttons });
  await outbox.enqueue(source, all, { blobs, answeredCommand: line.inbox });
}
