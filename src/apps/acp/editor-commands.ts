import type { AvailableCommand } from "@agentclientprotocol/sdk/unstable";
import { applyReply } from "../../commands/apply-reply.ts";
import type { ChatCommand, ChatCommandContext } from "../../commands/command.ts";
import { findChatCommand, listCommandsFor, runChatCommand } from "../../commands/table.ts";
import type { CommandLine } from "../../core/command-grammar.ts";
import { PostriderError } from "../../core/errors.ts";
import { NO_RESET } from "../../core/reset-policy.ts";
import { saveDocument } from "../save-document.ts";
import { type EditorContext, OWNER_ASKER } from "./editor-context.ts";
import { buildEditorSource } from "./editor-source.ts";
import { showChoices, showInfo } from "./show-state.ts";
import type { Thread } from "./thread.ts";

/** The commands that work in an editor, for its menu. */
export function listEditorCommands(custom: readonly ChatCommand[]): AvailableCommand[] {
  return listCommandsFor({ role: "owner", kind: "editor" }, custom).map(({ name, summary, parameters }) => ({
    name,
    description: summary,
    ...(parameters !== undefined && { input: { hint: parameters } }),
  }));
}

/** Unknown commands go to the model, which may have commands of its own. */
export function isChatCommand(editor: EditorContext, { name }: CommandLine): boolean {
  return findChatCommand(name, editor.customCommands()) !== undefined;
}

/** Runs the command and shows its reply. Returns the prompt that the command sends to the agent, if it sends one. */
export async function runEditorCommand(
  editor: EditorContext,
  thread: Thread,
  { name, args }: CommandLine,
): Promise<string | undefined> {
  const context = await buildCommandContext(editor, thread);
  let next: string | undefined;
  await applyReply(context, runChatCommand(context, name, args), {
    async show(texts, { choices = [], document }) {
      const lines = [
        ...texts,
        ...choices.map(({ line, label, about }) => `- \`${line}\` ${label} ${about}`),
        ...(document === undefined ? [] : [saveDocument(document, thread.cwd)]),
      ];
      if (lines.length > 0) thread.display.showNotice(lines.join("\n\n"));
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

async function buildCommandContext(editor: EditorContext, thread: Thread): Promise<ChatCommandContext> {
  const { store, clock } = editor;
  const { promptSettings } = editor.settings();
  const { zone, personalities } = promptSettings;
  return {
    store,
    sessions: await editor.sessions(),
    chat: thread.turns.chat,
    who: OWNER_ASKER,
    role: "owner",
    source: buildEditorSource(thread.id),
    agent: editor.requireAgent(),
    policy: NO_RESET,
    zone,
    // A prompt during a turn always waits for the next turn.
    busy: "queue",
    personalities,
    configured: promptSettings,
    now: () => clock.now(),
    random: (bytes) => clock.random(bytes),
    processes: editor.localTools.processes,
    customCommands: editor.customCommands(),
  };
}
