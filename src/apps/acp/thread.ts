import { throwIfRefused } from "../../core/refusal.ts";
import { pause } from "../../system/pause.ts";
import { type EditorContext, OWNER_ASKER } from "./editor-context.ts";
import { buildEditorRouting, buildEditorSource } from "./editor-source.ts";
import { editorTerminal, terminalCards } from "./editor-terminal.ts";
import { type ThreadDisplay, threadDisplay } from "./thread-display.ts";
import { type ThreadTools, type ThreadToolsOptions, threadTools } from "./thread-tools.ts";
import { type ThreadTurns, threadTurns } from "./thread-turns.ts";

/** A session that is open in the editor. */
export interface Thread {
  readonly id: string;
  readonly cwd: string;
  readonly display: ThreadDisplay;
  readonly tools: ThreadTools;
  readonly turns: ThreadTurns;
  /** Whether the editor has sent a prompt since the thread was opened. */
  hasPrompts: boolean;
  /** Whether the editor has the list of commands. */
  isIntroduced: boolean;
  /** Ends the running turn, stores its partial answer and disconnects the servers. */
  close(): Promise<void>;
}

export type ThreadOptions = Pick<ThreadToolsOptions, "cwd" | "mcpServers" | "leftOut">;

/** Attaches the session to this editor's conversation and ends turns of crashed processes. */
export async function openThread(editor: EditorContext, id: string, options: ThreadOptions): Promise<Thread> {
  const { cwd } = options;
  const routing = () => buildEditorRouting(editor, id, cwd);
  throwIfRefused(await editor.store.conversations.attach({ asker: OWNER_ASKER, session: id, ...routing() }));
  const display = threadDisplay(editor, id, cwd);
  const { showNotice } = display;
  const terminals = terminalCards(display.replayContext.calls, display.show);
  const terminal = editorTerminal(editor, id, terminals);
  const tools = threadTools(editor, { ...options, terminal, showNotice });
  const turns = threadTurns(editor, { session: id, cwd, routing, display, tools, terminals });
  await turns.chat.recover(id);
  // A prompt usually follows at once. An error reaches the first turn.
  setImmediate(() => void editor.localTools.load().catch(() => {}));
  const closing = new AbortController();
  const watching = Promise.all([
    watchProcesses(editor, id, showNotice, closing.signal),
    watchCrashedTurns(editor, id, turns, closing.signal),
  ]);
  return {
    id,
    cwd,
    display,
    tools,
    turns,
    hasPrompts: false,
    isIntroduced: false,
    async close() {
      closing.abort();
      await watching;
      display.follower.stop();
      await turns.chat.close();
      await tools.close();
    },
  };
}

const WATCH_DELAY_MS = 1000;

/** Reports background processes of the thread. The delay keeps its modules out of the way of the first answer. */
async function watchProcesses(
  { store, clock, log }: EditorContext,
  session: string,
  showNotice: (markdown: string) => void,
  signal: AbortSignal,
): Promise<void> {
  await pause(WATCH_DELAY_MS, signal);
  if (signal.aborted) return;
  const { watchLocalProcesses } = await import("../../turns/watch-local.ts");
  const source = buildEditorSource(session);
  await watchLocalProcesses({
    store,
    clock,
    isMine: ({ target }) => target.platform === source.platform && target.chatId === source.chatId,
    show: (markdown) => showNotice(`${markdown}\n\n`),
    onError: (error) => log.error({ error, session }, "the thread could not report a background process"),
    signal,
  });
}

const RECOVER_EVERY_MS = 2000;

/** Ends the turns of other windows that crash while this one has the session open. */
async function watchCrashedTurns(
  { log }: EditorContext,
  session: string,
  { chat }: ThreadTurns,
  signal: AbortSignal,
): Promise<void> {
  for (;;) {
    await pause(RECOVER_EVERY_MS, signal);
    if (signal.aborted) return;
    await chat
      .recover(session)
      .catch((error: unknown) => log.error({ error, session }, "the thread could not end a crashed turn"));
  }
}
