import type { SessionUpdate } from "@agentclientprotocol/sdk/unstable";
import type { Message } from "../../core/message.ts";
import { type EditorContext, findStoredSession, OWNER_ASKER } from "./editor-context.ts";
import { buildReplayContext, type ReplayContext, replayHistory, toSessionUpdates } from "./replay.ts";
import { type SessionFollower, sessionFollower } from "./session-follower.ts";

/** The updates of one session that the editor gets, in their order. */
export interface ThreadDisplay {
  readonly replayContext: ReplayContext;
  readonly follower: SessionFollower;
  show(update: SessionUpdate): void;
  /** Shows Markdown that is not part of the session. */
  showNotice(markdown: string): void;
  /** True when the value differs from the last one that was recorded under this topic. */
  recordIfChanged(topic: string, value: unknown): boolean;
  /** Shows the stored messages, then follows the session. Resolves when the editor has the stored ones. */
  replay(): Promise<void>;
  /** Follows the session without its stored messages. */
  follow(): Promise<void>;
}

export function threadDisplay(editor: EditorContext, session: string, cwd: string): ThreadDisplay {
  const { store, client } = editor;
  const lastValues = new Map<string, string>();
  const replayContext = buildReplayContext({
    cwd,
    blob: (hash) => store.messages.readBlob({ asker: OWNER_ASKER, hash }),
  });

  const send = (update: SessionUpdate): Promise<void> =>
    client.notify("session/update", { sessionId: session, update });

  function show(update: SessionUpdate): void {
    send(update).catch(() => {}); // the connection is closed, and so is this process
  }

  const follower = sessionFollower(
    editor,
    session,
    (message) => toSessionUpdates(message, replayContext),
    show,
  );

  return {
    replayContext,
    follower,
    show,
    showNotice: (markdown) => show(toNoticeUpdate(markdown)),
    recordIfChanged(topic, value) {
      const json = JSON.stringify(value);
      if (lastValues.get(topic) === json) return false;
      lastValues.set(topic, json);
      return true;
    },
    async replay() {
      const stored = await findStoredSession(editor, session);
      // Before the history is read: a turn that runs now is in the history, or its end is.
      const isRunning = await isTurnRunning(editor, session);
      const history = (await store.messages.readHistory({ asker: OWNER_ASKER, session })) ?? [];
      for await (const update of replayHistory(history, { ...replayContext, isRunning })) await send(update);
      follower.start(stored?.messageCount ?? 0, collectSeqs(history, session));
    },
    async follow() {
      follower.start((await findStoredSession(editor, session))?.messageCount ?? 0);
    },
  };
}

function toNoticeUpdate(text: string): SessionUpdate {
  return { sessionUpdate: "agent_message_chunk", content: { type: "text", text } };
}

/** Whether any process runs a turn of the session. */
async function isTurnRunning({ store }: EditorContext, session: string): Promise<boolean> {
  const diagnostics = await store.sessions.getDiagnostics({ asker: OWNER_ASKER, session });
  return diagnostics?.turns.some(({ state }) => state === "running") ?? false;
}

function collectSeqs(history: readonly Message[], session: string): ReadonlySet<number> {
  return new Set(history.filter((message) => message.session === session).map(({ seq }) => seq));
}
