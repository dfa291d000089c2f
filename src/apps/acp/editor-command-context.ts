import type { ChatCommandContext } from "../../commands/command.ts";
import { NO_RESET } from "../../core/reset-policy.ts";
import { type EditorContext, OWNER_ASKER } from "./editor-context.ts";
import { buildEditorSource } from "./editor-source.ts";
import type { Thread } from "./thread.ts";

/** A thread as a place where commands are given. */
export async function buildEditorCommandContext(
  editor: EditorContext,
  { id, talk }: Thread,
): Promise<ChatCommandContext> {
  const { store, clock } = editor;
  const { promptSettings } = editor.settings();
  const { zone, personalities } = promptSettings;
  return {
    store,
    sessions: await editor.sessions(),
    chat: talk,
    who: OWNER_ASKER,
    role: "owner",
    source: buildEditorSource(id),
    agent: editor.requireAgent(),
    policy: NO_RESET,
    zone,
    // What is said in a thread while an answer is written always waits for its turn.
    busy: "queue",
    personalities,
    configured: promptSettings,
    now: () => clock.now(),
    random: (bytes) => clock.random(bytes),
    processes: editor.localTools.processes,
    customCommands: editor.customCommands(),
  };
}
