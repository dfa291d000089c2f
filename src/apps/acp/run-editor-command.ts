import type { CommandReply } from "../../commands/command.ts";
import { formatMessagesAround } from "../../commands/messages-around.ts";
import { findChatCommand, runChatCommand } from "../../commands/table.ts";
import type { CommandLine } from "../../core/command-grammar.ts";
import { PostriderError } from "../../core/errors.ts";
import { saveDocument } from "../save-document.ts";
import { buildEditorCommandContext } from "./editor-command-context.ts";
import type { EditorContext } from "./editor-context.ts";
import { showChoices, showInfo } from "./show-state.ts";
import { type Thread, toNoticeUpdate } from "./thread.ts";

/** What is no command of ours may be one of the model's. */
export function isChatCommand(editor: EditorContext, { name }: CommandLine): boolean {
  return findChatCommand(name, editor.customCommands()) !== undefined;
}

/** Does it, and shows what it replies. Gives back what is to be said after it, if anything is. */
export async function runEditorCommand(
  editor: EditorContext,
  thread: Thread,
  { name, args }: CommandLine,
): Promise<string | undefined> {
  const place = await buildEditorCommandContext(editor, thread);
  const reply = await runChatCommand(place, name, args).catch((error: unknown): CommandReply => {
    if (error instanceof PostriderError) return { text: error.message };
    throw error;
  });
  const lines = [
    reply.text,
    ...(reply.choices ?? []).map(({ line, label, about }) => `- \`${line}\` ${label} ${about}`),
    reply.around === undefined ? "" : await formatMessagesAround(place, reply.around),
    reply.document === undefined ? "" : saveDocument(reply.document, thread.cwd),
  ].filter(Boolean);
  if (lines.length > 0) thread.show(toNoticeUpdate(lines.join("\n\n")));
  await Promise.all([showInfo(editor, thread), showChoices(editor, thread)]);
  return reply.say;
}
