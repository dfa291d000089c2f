import type { Place } from "../../commands/command.ts";
import { NO_RESET } from "../../core/reset-policy.ts";
import { type Editor, who } from "./editor.ts";
import { editorSource } from "./editor-source.ts";
import type { Thread } from "./thread.ts";

/** A thread as a place where commands are given. */
export async function editorPlace(editor: Editor, { id, talk }: Thread): Promise<Place> {
  const { store, clock } = editor;
  const { told } = editor.settings();
  const { zone, personalities } = told;
  return {
    store,
    sessions: await editor.sessions(),
    talk,
    who,
    role: "owner",
    source: editorSource(id),
    agent: editor.agent(),
    policy: NO_RESET,
    zone,
    // What is said in a thread while an answer is written always waits for its turn.
    busy: "queue",
    personalities,
    configured: told,
    now: () => clock.now(),
    random: (bytes) => clock.random(bytes),
    processes: editor.hands.processes,
  };
}
