import type { McpServer, SessionUpdate, ToolCallUpdate, Usage } from "@agentclientprotocol/sdk/unstable";
import type { Routing } from "../../core/conversation.ts";
import type { Message, ToolCall } from "../../core/message.ts";
import { unrefused } from "../../core/refusal.ts";
import { cleanTitle } from "../../core/titles.ts";
import type { Turn } from "../../core/turn.ts";
import { addUsage, type Usage as Counted, emptyUsage } from "../../core/usage.ts";
import { pause } from "../../system/pause.ts";
import type { Around } from "../../turns/answering.ts";
import { knownHistory } from "../../turns/known-history.ts";
import type { Prepared } from "../../turns/run-turn.ts";
import { openTalk, type Talk } from "../../turns/talk.ts";
import { type Editor, who } from "./editor.ts";
import { editorRouting } from "./editor-source.ts";
import { editorTerminal } from "./editor-terminal.ts";
import { isFolder, withoutFolder } from "./folder.ts";
import { type Known, known } from "./known.ts";
import { live } from "./live.ts";
import { connectMcpServers } from "./mcp-servers.ts";
import { oldTextFor } from "./old-text.ts";
import { askInEditor } from "./permission.ts";
import { replay, replaying, updatesOf } from "./replay.ts";
import { type Others, showOthers } from "./show-others.ts";
import { storedSession } from "./stored-session.ts";
import { terminalCards } from "./terminal-cards.ts";
import { toolCard } from "./tool-card.ts";

/** A session that is open in the editor: what it works with, and what is shown of it. */
export interface Thread {
  readonly id: string;
  readonly cwd: string;
  readonly talk: Talk;
  readonly others: Others;
  /** Whether something has been asked in it since it was opened. */
  isAsked: boolean;
  /** Whether the editor has been told of its commands. */
  isIntroduced: boolean;
  readonly knows: Known;
  /** Shows something of it, after what was shown before. */
  show(update: SessionUpdate): void;
  /** Shows what the session shows; resolves when the editor has it all. */
  replay(): Promise<void>;
  /** Shows nothing of what was said before, only what others say from now on. */
  goOn(): Promise<void>;
  /** A title that is taken gets its next number, and a blank one changes nothing. Gives back what it is called now. */
  entitle(title: string): Promise<string>;
  /** What the last turn here has used, if that is known. */
  usage(): Usage | undefined;
  /** What could not be connected of what the editor gave. */
  problems(): Promise<readonly string[]>;
  /** Ends what is being answered, and lets go of everything. */
  close(): Promise<void>;
}

export interface ThreadGiven {
  readonly cwd: string;
  readonly mcpServers: readonly McpServer[];
  /** Sentences about servers that cannot even be tried. */
  readonly leftOut?: readonly string[];
}

/** How long what runs in the background waits before it is told of. */
const WATCHED_AFTER_MS = 1000;

/** The session's conversation is this editor's from now on, too. What a process that is gone had left open is ended. */
export async function openThread(editor: Editor, id: string, given: ThreadGiven): Promise<Thread> {
  const { store, clock, client, log, runner } = editor;
  const { cwd } = given;
  const routing = (): Routing => editorRouting(editor, id, cwd);
  const { source } = routing();
  unrefused(await store.attach({ asker: who, session: id, ...routing() }));
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
    tell: (sentence) => show(told(`_${sentence}_\n\n`)),
    changed: () => refreshTools(),
  });
  const drawn = replaying({ cwd, blob: (hash) => store.blob({ asker: who, hash }) });
  const others = showOthers(editor, id, (message) => updatesOf(message, drawn), show);
  const answer = live(id, drawn);
  const terminals = terminalCards(drawn.calls, show);
  const terminal = editorTerminal(editor, id, terminals);
  let used: Counted | undefined;

  const cardOf = (call: ToolCall): ToolCallUpdate => ({
    ...toolCard(call, cwd, oldTextFor(call, cwd)),
    toolCallId: answer.nextId(call),
  });

  async function prepare(turn: Turn): Promise<Prepared> {
    const given = { cwd, ...(terminal !== undefined && { terminal }) };
    const hasFolder = isFolder(cwd);
    const [prepared, servers] = await Promise.all([
      editor.hands.prepare(turn, { ...given, folder: hasFolder ? "opened" : "missing" }),
      mcp.tools(),
      others.caughtUp(),
    ]);
    const own = hasFolder ? (prepared.tools ?? []) : withoutFolder(prepared.tools ?? [], cwd);
    const tools = [...own, ...servers];
    refreshTools = () => void tools.splice(own.length, tools.length, ...mcp.current());
    return { ...prepared, ...given, tools };
  }

  const history = knownHistory(store, id);

  function around(turn: Turn): Around {
    const { compressAt } = editor.settings();
    return {
      storesFirst: true,
      history,
      storeLater: (error) => log.error({ error, session: id }, "an answer waits to be stored"),
      prepare: () => prepare(turn),
      approve: (request, signal, call) => askInEditor(editor, turn, request, call && cardOf(call), signal),
      ...(compressAt !== undefined && {
        compression: { at: compressAt, tell: async (notice) => show(told(notice)) },
      }),
      begun(inputs) {
        used = undefined;
        others.begun(inputs[0]?.seq ?? 0);
      },
      // The end of what another window's process has left was shown nowhere yet.
      ...(turn.attempt === 1 && { stored: others.stored }),
      ended: () => others.ended(),
    };
  }

  const talk = openTalk({
    store,
    clock,
    runner,
    source,
    agent: () => editor.agent(),
    routing,
    takes: "own",
    around,
    heard(event) {
      // A model that calls tools is asked several times in one turn.
      if (event.type === "usage") used = addUsage(used ?? emptyUsage(), event.usage);
      for (const update of answer.heard(event)) show(update);
      terminals.heard(event);
    },
  });
  await talk.recover(id);
  // Whoever has opened a thread says something in it a moment later.
  setImmediate(() => void editor.hands.load().catch(() => {})); // the first turn meets it
  const leaving = new AbortController();
  const watching = watch(leaving.signal);

  /** Begun when the first answer is on its way, which the editor waits for. */
  async function watch(signal: AbortSignal): Promise<void> {
    await pause(WATCHED_AFTER_MS, signal);
    if (signal.aborted) return;
    const { watchHere } = await import("../../turns/watch-local.ts");
    await watchHere({
      store,
      clock,
      isMine: ({ target }) => target.platform === source.platform && target.chatId === source.chatId,
      tell: (words) => show(told(`${words}\n\n`)),
      failed: (error) => log.error({ error, session: id }, "a process could not be told of"),
      signal,
    });
  }

  return {
    id,
    cwd,
    talk,
    others,
    isAsked: false,
    isIntroduced: false,
    knows: known(),
    show,
    async replay() {
      const session = await storedSession(editor, id);
      // Before the history is read: what runs then is in it, or its end is.
      const isRunning = await isAnswered(editor, id);
      const history = (await store.history({ asker: who, session: id })) ?? [];
      for await (const update of replay(history, { ...drawn, isRunning }))
        await client.notify("session/update", { sessionId: id, update });
      others.start(session?.messageCount ?? 0, seqsIn(history, id));
    },
    async goOn() {
      others.start((await storedSession(editor, id))?.messageCount ?? 0);
    },
    async entitle(title) {
      const clean = cleanTitle(title); // as typed, where a model's title would be trimmed
      const ask = { asker: who, session: id, numbered: true };
      const named =
        clean === undefined
          ? await storedSession(editor, id)
          : unrefused(await store.setTitle({ ...ask, title: clean }));
      return named?.title ?? "";
    },
    usage: () => used && usageOf(used),
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
export function told(text: string): SessionUpdate {
  return { sessionUpdate: "agent_message_chunk", content: { type: "text", text } };
}

/** Whether an answer is being written in the session, here or elsewhere. */
async function isAnswered({ store }: Editor, session: string): Promise<boolean> {
  const around = await store.surroundings({ asker: who, session });
  return around?.turns.some(({ state }) => state === "running") ?? false;
}

function seqsIn(history: readonly Message[], session: string): ReadonlySet<number> {
  return new Set(history.filter((message) => message.session === session).map(({ seq }) => seq));
}

function usageOf(used: Counted): Usage {
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
