import type { ChatCommandContext } from "../../../commands/command.ts";
import { getText, type Message } from "../../../core/message.ts";
import { pluralize } from "../../../core/pluralize.ts";
import type { Session } from "../../../core/session.ts";
import type { TurnEvent } from "../../../turns/active-turns.ts";
import type { ConversationView } from "./conversation-view.ts";
import { formatHeading } from "./conversation-view.ts";
import type { PendingView } from "./pending-view.ts";
import type { StatusLine } from "./status-line.ts";
import { formatToolCall, formatToolResult } from "./tool-lines.ts";

/** The number of messages that are drawn when a session opens; /history shows the rest. */
const DRAWN_MESSAGES = 40;

export interface SessionScreenOptions {
  readonly commandContext: ChatCommandContext;
  readonly view: ConversationView;
  readonly pending: PendingView;
  readonly status: StatusLine;
  /** Requests a new frame; `true` redraws everything. */
  render(whole?: boolean): void;
  /** Adds a person's message to the input history (arrow keys). */
  addToHistory(text: string): void;
}

/** One session on the screen: its messages, the answer in progress, and new messages from elsewhere. */
export interface SessionScreen {
  draw(session: Session): Promise<void>;
  handleEvent(event: TurnEvent): void;
  /** Shows an accepted message as pending, unless its turn has started. */
  addPending(messageId: string, text: string): void;
  refresh(): Promise<void>;
  current(): string | undefined;
  close(): void;
}

export function sessionScreen(options: SessionScreenOptions): SessionScreen {
  const { view, pending, status, render, addToHistory } = options;
  const { sessions, chat, who, agent } = options.commandContext;
  let session: Session | undefined;
  let following = new AbortController();
  /** The seqs that are on the screen. */
  let drawn = new Set<number>();
  /** Messages whose turn started before their number was known here. */
  const startedIds = new Set<string>();
  /** Messages from elsewhere that arrived while an answer was in progress. */
  let held: Message[] = [];
  let growing: ReturnType<ConversationView["startAnswer"]> | undefined;
  /** The seq that is being answered. Messages of its turn are already on the screen as events. */
  let answeredFrom = 0;

  /** Ends the current text block, so that the next text appears below. */
  function breakOff(remark?: string): void {
    growing?.end(remark);
    growing = view.startAnswer();
  }

  /** Draws a message once, even if two sources report it. */
  function show(message: Message): void {
    const id = message.origin?.platformMessageId;
    if (id !== undefined) {
      startedIds.add(id);
      pending.remove(id);
    }
    // Messages that a fork shares with its origin have the origin's numbers.
    const isOwn = message.session === session?.id;
    if (isOwn && drawn.has(message.seq)) return;
    if (isOwn) drawn.add(message.seq);
    view.showMessage(message);
    if (message.role === "user" && !message.origin?.proactive) addToHistory(getText(message));
    render();
  }

  async function refresh(): Promise<void> {
    if (session === undefined) return;
    const { id } = session;
    const [now, length, place] = await Promise.all([
      sessions.get(who, id),
      sessions.shownLength(who, id),
      chat.findCurrent(),
    ]);
    if (now === undefined || session.id !== id) return;
    session = now;
    const isAnswering = await chat.isAnswering();
    status.set({
      session,
      length: length ?? 0,
      agent: answering(place?.conversation.settings.model),
      isAnswering,
      pending: pending.count(),
    });
    render();
  }

  /** The name of the agent, or of the model that was chosen for this conversation. */
  function answering(chosen: string | undefined): string {
    return agent.getContextWindow === undefined ? agent.name : (chosen ?? agent.name);
  }

  async function follow({ id, messageCount }: Session, signal: AbortSignal): Promise<void> {
    try {
      for await (const message of sessions.follow(who, id, { after: messageCount, signal })) {
        // Our own answer is drawn already; its number is known only when the turn ends.
        if ((await chat.isAnswering()) && message.role !== "user") held.push(message);
        else show(message);
        await refresh();
      }
    } catch (error) {
      if (!signal.aborted) view.showError((error as Error).message);
      render();
    }
  }

  return {
    async draw(next) {
      following.abort();
      following = new AbortController();
      session = next;
      drawn = new Set();
      held = [];
      growing = undefined;
      const length = (await sessions.shownLength(who, next.id)) ?? 0;
      const offset = Math.max(0, length - DRAWN_MESSAGES);
      const history = (await sessions.history(who, next.id, { offset })) ?? [];
      view.clear();
      view.showMarkdown(formatHeading(next.title, next.handle));
      if (offset > 0)
        view.showMarkdown(`*… ${pluralize(offset, "earlier message")}: /history ${DRAWN_MESSAGES * 2}*`);
      for (const message of history) show(message);
      void follow(next, following.signal);
      await refresh();
      render(true);
    },
    handleEvent(event) {
      if (event.session !== session?.id) return;
      if (event.type === "started") {
        for (const input of event.inputs) show(input);
        answeredFrom = Math.max(0, ...event.inputs.map(({ seq }) => seq));
        growing = view.startAnswer();
      } else if (growing !== undefined && event.type === "text") growing.add(event.text);
      else if (growing !== undefined && event.type === "tool_call") breakOff(formatToolCall(event.call));
      else if (growing !== undefined && event.type === "tool_result") breakOff(formatToolResult(event.parts));
      else if (growing !== undefined && (event.type === "approval" || event.type === "message")) breakOff();
      else if (event.type === "turn_failed") view.showError((event.error as Error).message);
      else if (event.type === "ended") {
        const { outcome, reason, seqs } = event.end;
        const last = growing === undefined ? 0 : Math.max(0, ...seqs);
        for (let seq = answeredFrom + 1; seq <= last; seq += 1) drawn.add(seq);
        growing?.end(outcome === "interrupted" ? "(stopped)" : undefined);
        growing = undefined;
        if (reason !== undefined)
          view.showError(reason.includes("/retry") ? reason : `${reason} /retry tries again.`);
        for (const message of held.splice(0)) show(message);
      }
      render();
      if (event.type !== "text") void refresh();
    },
    addPending(messageId, text) {
      if (!startedIds.has(messageId)) pending.add(messageId, text);
    },
    refresh,
    current: () => session?.id,
    close: () => following.abort(),
  };
}
