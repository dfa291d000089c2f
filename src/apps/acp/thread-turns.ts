import type { ToolCallUpdate, Usage } from "@agentclientprotocol/sdk/unstable";
import type { Routing } from "../../core/conversation.ts";
import type { ToolCall } from "../../core/message.ts";
import type { Turn } from "../../core/turn.ts";
import { addUsage, type Usage as Counted, emptyUsage } from "../../core/usage.ts";
import type { TurnEvent } from "../../turns/active-turns.ts";
import { type AgentChat, openAgentChat } from "../../turns/agent-chat.ts";
import { cacheHistory } from "../../turns/cache-history.ts";
import type { PreparedTurn, TurnHooks } from "../../turns/turn-hooks.ts";
import { askInEditor } from "./ask-in-editor.ts";
import type { EditorContext } from "./editor-context.ts";
import type { ThreadTerminals } from "./editor-terminal.ts";
import { liveAnswer } from "./live-answer.ts";
import { readOldText } from "./old-text.ts";
import type { ThreadDisplay } from "./thread-display.ts";
import type { ThreadTools } from "./thread-tools.ts";
import { buildToolCard } from "./tool-card.ts";

/** The turns of a session that run in this process, and their live display. */
export interface ThreadTurns {
  readonly chat: AgentChat;
  /** The usage of the last turn, if the agent has reported it. */
  getUsage(): Usage | undefined;
}

export interface ThreadTurnsOptions {
  readonly session: string;
  readonly cwd: string;
  routing(): Routing;
  readonly display: ThreadDisplay;
  readonly tools: ThreadTools;
  readonly terminals: ThreadTerminals;
}

export function threadTurns(editor: EditorContext, options: ThreadTurnsOptions): ThreadTurns {
  const { store, clock, log, runner } = editor;
  const { session, cwd, routing, display, tools, terminals } = options;
  const { follower } = display;
  const answer = liveAnswer(session, display.replayContext);
  const history = cacheHistory(store, session);
  let used: Counted | undefined;

  /** The card of a call that the agent asks to make, under the id that the call will have. */
  const buildPendingCard = (call: ToolCall): ToolCallUpdate => ({
    ...buildToolCard(call, cwd, readOldText(call, cwd)),
    toolCallId: answer.nextId(call),
  });

  async function prepare(turn: Turn): Promise<PreparedTurn> {
    const [prepared] = await Promise.all([tools.prepare(turn), follower.waitUntilCaughtUp()]);
    return prepared;
  }

  function buildHooks(turn: Turn): TurnHooks {
    const { compressAt } = editor.settings();
    return {
      writeAhead: true,
      readHistory: history,
      onStoreDelayed: (error) => log.error({ error, session }, "the editor could not store an answer yet"),
      prepare: () => prepare(turn),
      approve: (request, signal, call) =>
        askInEditor(editor, turn, request, call && buildPendingCard(call), signal),
      ...(compressAt !== undefined && {
        compression: { at: compressAt, notify: async (notice) => display.showNotice(notice) },
      }),
      onStart(inputs) {
        used = undefined;
        follower.startTurn(inputs[0]?.seq ?? 0);
      },
      // The messages of a recovered turn were never shown here, so the follower shows them.
      ...(turn.attempt === 1 && { onStored: follower.markOwnMessages }),
      onEnd: () => follower.endTurn(),
    };
  }

  function handleEvent(event: TurnEvent): void {
    // A turn with tool calls reports usage once for each model request.
    if (event.type === "usage") used = addUsage(used ?? emptyUsage(), event.usage);
    for (const update of answer.handleEvent(event)) display.show(update);
    terminals.handleEvent(event);
  }

  const chat = openAgentChat({
    store,
    clock,
    runner,
    source: routing().source,
    agent: () => editor.requireAgent(),
    routing,
    claims: "own",
    hooks: buildHooks,
    onEvent: handleEvent,
  });

  return { chat, getUsage: () => used && toAcpUsage(used) };
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
