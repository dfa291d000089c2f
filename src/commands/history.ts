import { PostriderError } from "../core/errors.ts";
import { getText, type Message } from "../core/message.ts";
import { pluralize } from "../core/pluralize.ts";
import { formatClockTime } from "../core/transcript.ts";
import {
  type ChatCommand,
  type ChatCommandContext,
  escapeMarkdown,
  requireCurrent,
  shortenLine,
} from "./command.ts";
import { checkMessageSeq, findNamedSession } from "./find-sessions.ts";

const DEFAULT_COUNT = 10;

export const historyChatCommand: ChatCommand = {
  name: "history",
  parameters: "[COUNT | HANDLE/MESSAGE]",
  summary: "what was said here, or around a message found by /search",
  isReadOnly: true,
  async run(context, args) {
    const [, handle, seq] = /^(\S+)\/(\d{1,8})$/.exec(args) ?? [];
    if (handle !== undefined) {
      const session = await findNamedSession(context, handle);
      return { text: "", around: { session: session.id, seq: checkMessageSeq(session, Number(seq)) } };
    }
    if (args !== "" && !/^[1-9]\d{0,4}$/.test(args)) {
      throw new PostriderError("invalid_input", "Write how many messages to show, such as /history 20.");
    }
    return { text: await formatLastMessages(context, args === "" ? DEFAULT_COUNT : Number(args)) };
  },
};

async function formatLastMessages(context: ChatCommandContext, count: number): Promise<string> {
  const { session } = await requireCurrent(context);
  const length = (await context.sessions.shownLength(context.who, session.id)) ?? 0;
  if (length === 0) return "Nothing has been said here yet.";
  const offset = Math.max(0, length - count);
  const shown = (await context.sessions.history(context.who, session.id, { offset })) ?? [];
  const before = offset === 0 ? [] : [`… ${pluralize(offset, "message")} before`];
  return [...before, ...shown.map((message) => formatMessageLine(message, context.zone))].join("\n\n");
}

const SPEAKER = { user: "you", assistant: "agent", tool: "tool", note: "note" } as const;

/** One message in short: who, when, and the first words. */
export function formatMessageLine(message: Message, zone: string): string {
  const calls = message.toolCalls?.map(({ name }) => `[${name}]`).join(" ") ?? "";
  const files = message.parts.flatMap((part) => (part.type === "text" ? [] : [`[${part.type}]`])).join(" ");
  const said = [shortenLine(getText(message), 300), files, calls].filter(Boolean).join(" ");
  const stopped = message.origin?.interrupted === true ? " (stopped)" : "";
  return `\`${message.seq}\` **${SPEAKER[message.role]}** ${formatClockTime(message.at, zone)}${stopped}: ${escapeMarkdown(said)}`;
}
