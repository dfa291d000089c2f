import type { McpServer, SessionUpdate, ToolCallUpdate, Usage } from "@agentclientprotocol/sdk/unstable";
import type { Routing } from "../../core/conversation.ts";
import type { Message, ToolCall } from "../../core/message.ts";
import { throwIfRefused } from "../../core/refusal.ts";
import { cleanTitle } from "../../core/titles.ts";
import type { Turn } from "../../core/turn.ts";
import { addUsage, type Usage as Counted, emptyUsage } from "../../core/usage.ts";
import { pause } from "../../system/pause.ts";
import { type AgentChat, openAgentChat } from "../../turns/agent-chat.ts";
import { cacheHistory } from "../../turns/cache-history.ts";
import type { PreparedTurn, TurnHooks } from "../../turns/turn-hooks.ts";
import { askInEditor } from "./ask-in-editor.ts";
import { type EditorContext, OWNER_ASKER } from "./editor-context.ts";
import { buildEditorRouting } from "./editor-source.ts";
import { editorTerminal } from "./editor-terminal.ts";
import { findStoredSession } from "./find-stored-session.ts";
import { disableFolderTools, isFolder } from "./folder.ts";
import { type LastSent, lastSent } from "./last-sent.ts";
import { liveAnswer } from "./live-answer.ts";
import { connectMcpServers } from "./mcp-servers.ts";
import { readOldText } from "./old-text.ts";
import { buildReplayContext, replayHistory, toSessionUpdates } from "./replay.ts";
import { type SessionFollower, sessionFollower } from "./session-follower.ts";
import { terminalCards } from "./terminal-cards.ts";
import { buildToolCard } from "./tool-card.ts";

/** A session that is open in the editor: what it works with, and what is shown of it. */
export interface Thread {
  readonly id: string;
  readonly cwd: string;
  readonly talk: AgentChat;
  readonly follower: SessionFollower;
  /** Whether something has been asked in it since it was opened. */
  hasPrompts: boolean;
  /** Whether the editor has been told of its commands. */
  isIntroduced: boolean;
  readonly lastSent: LastSent;
  /** Shows something of it, after what was shown before. */
  show(update: SessionUpdate): void;
  /** Shows what the session shows; resolves when the editor has it all. */
  replay(): Promise<void>;
  /** Shows nothing of what was said before, only what others say from now on. */
  follow(): Promise<void>;
  /** A title that is taken gets its next number, and a blank one changes nothing. Gives back what it is called now. */
  setTitle(title: string): Promise<string>;
  /** What the last turn here has used, if that is known. */
  usage(): Usage | undefined;
  /** What could not be connected of what the editor gave. */
  problems(): Promise<readonly string[]>;
  /** Ends what is being answered, and lets go of everything. */
  close(): Promise<void>;
}

export interface ThreadOptions {
  readonly cwd: string;
  readonly mcpServers: readonly McpServer[];
  /** Sentences about servers that cannot even be tried. */
  readonly leftOut?: readonly string[];
}

/** How long what runs in the background waits before it is told of. */
const WATCH_DELAY_MS = 1000;

/** The session's conversation is this editor's from now on, too. What a process that is gone had left open is ended. */
export async function openThread(editor: EditorContext, id: string, given: ThreadOptions): Promise<Thread> {
  const { store, clock, client, log, runner } = editor;
  const { cwd } = given;
  const routing = (): Routing => buildEditorRouting(editor, id, cwd);
  const { source } = routing();
  throwIfRefused(await store.conversations.attach({ asker: OWNER_ASKER, session: id, ...routing() }));
  const show = (update: SessionUpdate): void => {
    client.notify("session/update", { sessionId: id, update }).catch(() => {}); // the editor is gone, and so are we
  };
  /** Brings the running turn's list of tools up to date. */
  let refreshTools = (): void => {};
  const mcp = connectMcpServers(given.mcpServers, {
    cwd,
    environment: editor.environment,
    log,
    ...(given.leftOut !== undefined && { leftOut: given.leftOut }),
    notify: (sentence) => show(toNoticeUpdate(`_${sentence}_\n\n`)),
    onToolsChanged: () => refreshTools(),
  });
  const drawn = buildReplayContext({
    cwd,
    blob: (hash) => store.messages.readBlob({ asker: OWNER_ASKER, hash }),
  });
  const others = sessionFollower(editor, id, (message) => toSessionUpdates(message, drawn), show);
  const answer = liveAnswer(id, drawn);
  const terminals = terminalCards(drawn.calls, show);
  const terminal = editorTerminal(editor, id, terminals);
  let used: Counted | undefined;

  const cardOf = (call: ToolCall): ToolCallUpdate => ({
    ...buildToolCard(call, cwd, readOldText(call, cwd)),
    toolCallId: answer.nextId(call),
  });

  async function prepare(turn: Turn): Promise<PreparedTurn> {
    const given = { cwd, ...(terminal !== undefined && { terminal }) };
    const hasFolder = isFolder(cwd);
    const [prepared, servers] = await Promise.all([
      editor.localTools.prepare(turn, { ...given, folder: hasFolder ? "opened" : "missing" }),
      mcp.tools(),
      others.waitUntilCaughtUp(),
    ]);
    const own = hasFolder ? (prepared.tools ?? []) : disableFolderTools(prepared.tools ?? [], cwd);
    const tools = [...own, ...servers];
    refreshTools = () => void tools.splice(own.length, tools.length, ...mcp.currentTools());
    return { ...prepared, ...given, tools };
  }

  const history = cacheHistory(store, id);

  function hooks(turn: Turn): TurnHooks {
    const { compressAt } = editor.settings();
    return {
      writeAhead: true,
      readHistory: history,
      onStoreDelayed: (error) => log.error({ error, session: id }, "an answer waits to be stored"),
      prepare: () => prepare(turn),
      approve: (request, signal, call) => askInEditor(editor, turn, request, call && cardOf(call), signal),
      ...(compressAt !== undefined && {
        compression: { at: compressAt, notify: async (notice) => show(toNoticeUpdate(notice)) },
      }),
      onStart(inputs) {
        used = undefined;
        others.startTurn(inputs[0]?.seq ?? 0);
      },
      // The end of what another window's process has left was shown nowhere yet.
      ...(turn.attempt === 1 && { onStored: others.markOwnMessages }),
      onEnd: () => others.endTurn(),
    };
  }

  const talk = openAgentChat({
    store,
    clock,
    runner,
    source,
    agent: () => editor.requireAgent(),
    routing,
    claims: "own",
    hooks,
    onEvent(event) {
      // A model that calls tools is asked several times in one turn.
      if (event.type === "usage") used = addUsage(used ?? emptyUsage(), event.usage);
      for (const update of answer.handleEvent(event)) show(update);
      terminals.handleEvent(event);
    },
  });
  await talk.recover(id);
  // Whoever has opened a thread says something in it a moment later.
  setImmediate(() => void editor.localTools.load().catch(() => {})); // the first turn meets it
  const leaving = new AbortController();
  const watching = watch(leaving.signal);

  /** Begun when the first answer is on its way, which the editor waits for. */
  async function watch(signal: AbortSignal): Promise<void> {
    await pause(WATCH_DELAY_MS, signal);
    if (signal.aborted) return;
    const { watchLocalProcesses: watchHere } = await import("../../turns/watch-local.ts");
    await watchHere({
      store,
      clock,
      isMine: ({ target }) => target.platform === source.platform && target.chatId === source.chatId,
      show: (words) => show(toNoticeUpdate(`${words}\n\n`)),
      onError: (error) => log.error({ error, session: id }, "a process could not be told of"),
      signal,
    });
  }

  return {
    id,
    cwd,
    talk,
    follower: others,
    hasPrompts: false,
    isIntroduced: false,
    lastSent: lastSent(),
    show,
    async replay() {
      const session = await findStoredSession(editor, id);
      // Before the history is read: what runs then is in it, or its end is.
      const isRunning = await isTurnRunning(editor, id);
      const history = (await store.messages.readHistory({ asker: OWNER_ASKER, session: id })) ?? [];
      for await (const update of replayHistory(history, { ...drawn, isRunning }))
        await client.notify("session/update", { sessionId: id, update });
      others.start(session?.messageCount ?? 0, collectSeqs(history, id));
    },
    async follow() {
      others.start((await findStoredSession(editor, id))?.messageCount ?? 0);
    },
    async setTitle(title) {
      const clean = cleanTitle(title); // as typed, where a model's title would be trimmed
      const ask = { asker: OWNER_ASKER, session: id, numbered: true };
      const named =
        clean === undefined
          ? await findStoredSession(editor, id)
          : throwIfRefused(await store.sessions.setTitle({ ...ask, title: clean }));
      return named?.title ?? "";
    },
    usage: () => used && toAcpUsage(used),
    async problems() {
      await mcp.tools();
      return mcp.problems;
    },
    async close() {
      leaving.abort();
      await watching;
      others.stop();
      await talk.close();
      await mcp.close();
    },
  };
}

/** Something that nobody said, in the thread. */
export function toNoticeUpdate(text: string): SessionUpdate {
  return { sessionUpdate: "agent_message_chunk", content: { type: "text", text } };
}

/** Whether an answer is being written in the session, here or elsewhere. */
async function isTurnRunning({ store }: EditorContext, session: string): Promise<boolean> {
  const around = await store.sessions.getDiagnostics({ asker: OWNER_ASKER, session });
  return around?.turns.some(({ state }) => state === "running") ?? false;
}

function collectSeqs(history: readonly Message[], session: string): ReadonlySet<number> {
  return new Set(history.filter((message) => message.session === session).map(({ seq }) => seq));
}

function toAcpUsage(used: Counted): Usage {
  const { inputTokens, outputTokens, cacheReadTokens, cacheWriteTokens, reasoningTokens, totalTokens } = used;
  return {
    inputTokens,
    outputTokens,
    cachedReadTokens: cacheReadTokens,
    cachedWriteTokens: cacheWriteTokens,
    thoughtTokens: reasoningTokens,
    totalTokens,
  };
}
