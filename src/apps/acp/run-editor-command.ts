import { applyReply } from "../../commands/apply-reply.ts";
import { CHAT_COMMANDS, runChatCommand } from "../../commands/table.ts";
import { type CommandLine, findCommand } from "../../core/command-grammar.ts";
import { PostriderError } from "../../core/errors.ts";
import { saveDocument } from "../save-document.ts";
import { buildEditorCommandContext } from "./editor-command-context.ts";
import type { EditorContext } from "./editor-context.ts";
import { showChoices, showInfo } from "./show-state.ts";
import { type Thread, toNoticeUpdate } from "./thread.ts";

/** Any other command may be one of the model's. */
export function isChatCommand({ name }: CommandLine): boolean {
  return findCommand(CHAT_COMMANDS, name) !== undefined;
}

/** Runs the command and shows its reply. Returns the message to submit after it, if there is one. */
export async function runEditorCommand(
  editor: EditorContext,
  thread: Thread,
  { name, args }: CommandLine,
): Promise<string | undefined> {
  const place = await buildEditorCommandContext(editor, thread);
  let next: string | undefined;
  await applyReply(place, runChatCommand(place, name, args), {
    async show(texts, { choices = [], document }) {
      const lines = [
        ...texts,
        ...choices.map(({ line, label, about }) => `- \`${line}\` ${label} ${about}`),
        ...(document === undefined ? [] : [saveDocument(document, thread.cwd)]),
      ];
      if (lines.length > 0) thread.show(toNoticeUpdate(lines.join("\n\n")));
      await Promise.all([showInfo(editor, thread), showChoices(editor, thread)]);
    },
    submit: (text) => {
      next = text;
    },
    formatError(error) {
      if (error instanceof PostriderError) return error.message;
      throw error;
    },
  });
  return next;
}
