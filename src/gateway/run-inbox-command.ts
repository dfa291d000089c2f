import { applyReply } from "../commands/apply-reply.ts";
import { type ChatCommandContext, type Choice, type CommandReply, shortenLine } from "../commands/command.ts";
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

/** A command that is stored in the inbox and runs now. */
export interface InboxCommand extends CommandLine {
  readonly inbox: number;
  readonly source: Source;
  readonly role: AccessRole;
  readonly messageId: string;
  /** The message that the reply quotes in a group; a pressed button has none. */
  readonly replyTo?: string;
}

/** The arguments of these commands are codes that grant access. */
const SECRET: ReadonlySet<string> = new Set(["pair", "start"]);
const MAX_BUTTONS = 8;
const MAX_LABEL = 48;

/** Runs the command and stores its reply, which completes the inbox row. `submit` accepts a message that the reply asks for. */
export async function runInboxCommand(
  flow: Flow,
  connected: PlatformConnection,
  line: InboxCommand,
  submit: (text: string, queued: boolean) => Promise<void>,
): Promise<void> {
  const { name, args, source } = line;
  const about = { command: name, platform: source.platform, chat: source.chatId };
  flow.log.info(about, "running a command");
  runInBackground(
    flow.log,
    "a hook",
    flow.hooks.emit(`command:${name}`, { ...about, ...(!SECRET.has(name) && { args }) }),
  );
  const context = await openCommandContext(flow, line);
  const before = await context.chat.findCurrent();
  let hasMoved = false;
  await applyReply(context, runChatCommand(context, name, args), {
    onMoved: () => {
      hasMoved = true;
    },
    submitsFirst: true,
    submit,
    show: async (texts, reply) =>
      sendReply(connected, line, {
        text: texts.join("\n\n"),
        document: reply.document,
        buttons: await buildButtons(context, line, reply),
      }),
    formatError: (error) => formatError(flow, name, error),
  });
  const after = hasMoved ? await context.chat.findCurrent() : undefined;
  if (before !== undefined && after !== undefined && after.session.id !== before.session.id) {
    const [from, to] = [before.session.id, after.session.id];
    // The chat does not wait for hooks.
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

/** A command that changes something needs a conversation: the first message of a person may be a command. */
async function openCommandContext(
  flow: Flow,
  { source, role, name }: InboxCommand,
): Promise<ChatCommandContext> {
  const context = await buildMessengerCommandContext(flow, source, role);
  const command = findChatCommand(name, flow.customCommands);
  const isReadOnly = command === undefined || command.isReadOnly === true;
  if (isReadOnly || (await context.chat.findCurrent()) !== undefined) return context;
  await context.chat.open();
  return buildMessengerCommandContext(flow, source, role);
}

function formatError(flow: Flow, name: string, error: unknown): string {
  if (error instanceof PostriderError && error.code !== "internal") return error.message;
  flow.log.error({ error, command: name }, "a command failed");
  return `/${name} failed; the log says why. Nothing of it is known to have happened.`;
}

async function buildButtons(
  context: ChatCommandContext,
  { name, args }: InboxCommand,
  reply: CommandReply,
): Promise<Buttons | undefined> {
  if (reply.moved || reply.leave) return undefined;
  const choices = reply.choices ?? (await listChoices(context, name, args));
  if (choices.length === 0) return undefined;
  return choices
    .slice(0, MAX_BUTTONS)
    .map(({ label, line }) => [{ label: shortenLine(label, MAX_LABEL), line }]);
}

async function listChoices(
  context: ChatCommandContext,
  name: string,
  args: string,
): Promise<readonly Choice[]> {
  try {
    return (await findChatCommand(name, context.customCommands)?.listChoices?.(context, args)) ?? [];
  } catch {
    return []; // the reply says what is wrong
  }
}

async function sendReply(
  { platform, outbox }: PlatformConnection,
  { source, replyTo, inbox }: InboxCommand,
  reply: {
    readonly text: string;
    readonly document: CommandReply["document"];
    readonly buttons: Buttons | undefined;
  },
): Promise<void> {
  const { document, buttons } = reply;
  const deliveries = buildTextDeliveries(source, reply.text, { ...getSendOptions(platform), replyTo });
  const blobs: Blob[] = [];
  if (document !== undefined) {
    const blob = createBlob(new TextEncoder().encode(document.text), "document");
    blobs.push(blob);
    const { name } = document;
    const size = blob.bytes.byteLength;
    const file: Part = { type: "file", blob: blob.hash, mimeType: "text/plain", size, name };
    const isReply = replyTo !== undefined && (deliveries.length === 0 || platform.replyMode === "all");
    deliveries.push({ target: source, parts: [file], ...(isReply && { replyTo }) });
  }
  const last = deliveries.at(-1);
  const all: NewDelivery[] =
    last === undefined || buttons === undefined ? deliveries : deliveries.with(-1, { ...last, buttons });
  await outbox.enqueue(source, all, { blobs, answeredCommand: inbox });
}
