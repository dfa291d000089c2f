import { PostriderError } from "../core/errors.ts";
import { type ChatCommandContext, type CommandReply, escapeMarkdown } from "./command.ts";
import { formatMessageLine } from "./history.ts";

/** How one kind of chat does what a command replies. A missing handler means that the chat has no such thing. */
export interface ReplyHandlers {
  /** Shows the texts, in Markdown and without empty ones, and the reply's choices and document. */
  show(texts: readonly string[], reply: CommandReply): Promise<void> | void;
  /** Another session is current now, or this one shows something else. Called before `show`. */
  onMoved?(): Promise<void> | void;
  /** Submits a message as if the person had typed it. `queued`: it waits for its turn whatever the busy mode is. */
  submit?(text: string, queued: boolean): Promise<void> | void;
  /** `submit` runs before `show`: where the shown reply completes the command, a crash in between loses nothing. */
  readonly submitsFirst?: boolean;
  leave?(): void;
  /** The text to show instead of a failed reply. Without this handler, `applyReply` rejects. */
  formatError?(error: unknown): string;
}

/** Does everything that a command replies, in one order for all chats. */
export async function applyReply(
  context: ChatCommandContext,
  running: Promise<CommandReply>,
  handlers: ReplyHandlers,
): Promise<void> {
  const { reply, texts } = await resolveReply(context, running, handlers);
  const submit = async (): Promise<void> => {
    if (reply.say !== undefined) await handlers.submit?.(reply.say, reply.queued ?? false);
  };
  if (reply.moved) await handlers.onMoved?.();
  if (handlers.submitsFirst) await submit();
  await handlers.show(texts, reply);
  if (reply.leave) handlers.leave?.();
  if (!handlers.submitsFirst) await submit();
}

async function resolveReply(
  context: ChatCommandContext,
  running: Promise<CommandReply>,
  { formatError }: ReplyHandlers,
): Promise<{ readonly reply: CommandReply; readonly texts: readonly string[] }> {
  try {
    const reply = await running;
    const around = reply.around === undefined ? "" : await formatMessagesAround(context, reply.around);
    return { reply, texts: [reply.text, around].filter((text) => text !== "") };
  } catch (error) {
    if (formatError === undefined) throw error;
    const text = formatError(error);
    return { reply: { text }, texts: [text] };
  }
}

const NEIGHBOURS = 3;

/** The messages around one message, in Markdown, with the message itself marked. */
async function formatMessagesAround(
  { sessions, who, zone }: ChatCommandContext,
  at: { readonly session: string; readonly seq: number },
): Promise<string> {
  const session = await sessions.get(who, at.session);
  const after = Math.max(0, at.seq - NEIGHBOURS - 1);
  const messages = await sessions.messages(who, at.session, { after, limit: 2 * NEIGHBOURS + 1 });
  if (session === undefined || !messages?.some(({ seq }) => seq === at.seq)) {
    throw new PostriderError("not_found", `That session has no message ${at.seq}.`);
  }
  const lines = messages.map(
    (message) => `${message.seq === at.seq ? "▶ " : ""}${formatMessageLine(message, zone)}`,
  );
  return [`*${escapeMarkdown(session.title ?? session.handle)}, around message ${at.seq}:*`, ...lines].join(
    "\n\n",
  );
}
