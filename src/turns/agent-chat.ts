import { randomUUID } from "node:crypto";
import type { Conversation, FreshStart, Opened, Routing } from "../core/conversation.ts";
import type { NewDelivery } from "../core/delivery.ts";
import { getText, type Message, type NewMessage, type Part } from "../core/message.ts";
import { OWNER } from "../core/owner.ts";
import type { Session } from "../core/session.ts";
import type { Source } from "../core/source.ts";
import type { ClaimBy, Turn } from "../core/turn.ts";
import type { Agent } from "../ports/agent.ts";
import type { Clock } from "../ports/clock.ts";
import type { WakeResult } from "../ports/process-store.ts";
import type { Store } from "../ports/store.ts";
import { awaitChange } from "../sessions/await-change.ts";
import { type DataPart, prepareMessages } from "../sessions/message-input.ts";
import { activeTurns, isStoreClosed, isTakenOver, noop, type TurnEvent } from "./active-turns.ts";
import type { AgentAnswer } from "./answer-recorder.ts";
import { buildTextDeliveries, formatAnswer } from "./text-deliveries.ts";
import type { TurnEnd, TurnHooks } from "./turn-hooks.ts";

export interface AgentChatOptions {
  readonly store: Store;
  /** The agent that answers the next turn. */
  agent(): Agent;
  readonly runner: string;
  readonly clock: Clock;
  readonly source: Source;
  /** How a message of this chat finds its session, by the current settings. */
  routing(): Routing;
  /**
   * Which messages this process answers. `all`: also the messages that are pending after a turn. `one`: not those; their
   * senders claim them. `own`: only messages that this process accepted. Default `all`.
   */
  readonly claims?: "all" | "one" | "own";
  /** The hooks of a turn. Its target may be a messenger chat that shares the session. */
  hooks?(turn: Turn): TurnHooks;
  /** Receives the events of every turn that this process runs. */
  readonly onEvent: (event: TurnEvent) => void;
}

/** A stored message. This process or another one answers it when its turn comes. */
export interface SubmittedMessage {
  readonly session: Session;
  readonly conversation: Conversation;
  /** Why a new session started. The notice is due once, however many messages come before the first answer. */
  readonly fresh?: FreshStart;
  readonly messageId: string;
  /** The stored answer; `undefined` if the message was cancelled or the chat closed before its turn. */
  readonly answer: Promise<Message | undefined>;
  /** Cancels the message, or stops its answer. Resolves when that is stored. */
  withdraw(): Promise<void>;
}

/** A chat between the owner of the home and the agent: a terminal, a pipe, a thread of an editor. */
export interface AgentChat {
  /** Opens the chat's conversation, by the reset policy. */
  open(): Promise<Opened>;
  /** Finds the conversation and its session, and changes nothing. */
  findCurrent(): Promise<{ readonly conversation: Conversation; readonly session: Session } | undefined>;
  /** Stores a message, under a new id unless there is one. */
  submit(text: string | readonly (Part | DataPart)[], messageId?: string): Promise<SubmittedMessage>;
  /** Runs the turns that crashed processes of this platform left, in all sessions or in one. Resolves with their ends. */
  recover(session?: string): Promise<readonly TurnEnd[]>;
  /** Reports the end of a process to the agent, which answers in the session of the process. Resolves when it is stored. */
  wake(process: string, message: NewMessage): Promise<WakeResult["state"]>;
  /** Stops the answers in progress here, or those of one conversation. Resolves when they are stored; false if none. */
  stop(conversation?: number): Promise<boolean>;
  /** Cancels the pending messages of a conversation. Returns their texts. */
  cancelPending(conversation: number): Promise<readonly string[]>;
  /** Whether an answer is in progress here: in this session, or in any. */
  isAnswering(session?: string): boolean;
  /** Stops the answers in progress and starts no other. Pending messages, and turns of other processes, stay for them. */
  close(): Promise<void>;
}

const who = { person: OWNER };
/** Postrider itself asks, not a person. */
const asker = { everyone: true } as const;

export function openAgentChat(options: AgentChatOptions): AgentChat {
  const { store, clock, runner, source, routing, claims = "all", onEvent } = options;
  const by: ClaimBy = { runner, take: "one", ...(claims === "own" && { own: true }) };
  /** Ids of the messages of this chat that have no answer yet. */
  const open = new Set<string | undefined>();
  const isOwn = ({ origin }: Message): boolean => open.has(origin?.platformMessageId);
  const turns = activeTurns({
    store,
    clock,
    agent: () => options.agent(),
    nextClaim: () => by,
    hooks(turn, isRecovered) {
      // Only the process that accepted the message could answer it: the turn ends, and no hook shows it.
      if (isRecovered && claims === "own") return {};
      const hooks = options.hooks?.(turn) ?? {};
      // Somebody in a messenger shares the session: the answer is written here, and the gateway sends it.
      if (turn.target.platform !== source.platform)
        return { ...hooks, buildDeliveries: async (answer) => buildMessengerDeliveries(turn, answer) };
      // Nobody saw the notice of a new session with a recovered turn: it stays due.
      return { ...hooks, showsNotice: !isRecovered };
    },
    claimsNext: claims === "all",
    isOwn,
    onEvent,
  });
  const { closing } = turns;
  const withdrawing = new Set<Promise<void>>();
  /** The previous session that the last shown notice named. */
  let noticed: string | undefined;

  /** Waits for the stored answer to a message of this chat, and runs its turn if no other process does. */
  async function waitForAnswer(
    accepted: string,
    from: number,
    messageId: string,
  ): Promise<Message | undefined> {
    let [session, after] = [accepted, from];
    for (;;) {
      const change = awaitChange(store, closing);
      try {
        const pending = await store.inbox.listPending({ asker, session });
        const messages = (await store.messages.listMessages({ asker, session, after })) ?? [];
        const at = messages.findIndex((message) => message.origin?.platformMessageId === messageId);
        const answer = at === -1 ? undefined : findAnswerEnd(messages.slice(at + 1));
        if (answer !== undefined || closing.aborted) return answer;
        if (at === -1 && !pending.some((message) => message.origin?.platformMessageId === messageId)) {
          const [conversation] = await store.conversations.findConversations({ asker: who, source });
          if (conversation === undefined || conversation.session === session) return undefined;
          // Another terminal switched the conversation to another session: its pending messages moved, too.
          [session, after] = [conversation.session, 0];
          continue;
        }
        const turn = turns.isRunning(session)
          ? undefined
          : (turns.takeUnfinished(session) ??
            (await store.turns.claim({ session, ...by, now: clock.now() })));
        if (turn === undefined) await change.happened;
        else await turns.run(turn).then(noop, ignoreTakenOver);
      } finally {
        change.forget();
      }
    }
  }

  async function withdraw(session: string, after: number, messageId: string): Promise<void> {
    const { profile } = routing();
    const outcome = await store.inbox.editInbound({ profile, source, messageId, now: clock.now() });
    if (outcome !== "late") return;
    const messages = (await store.messages.listMessages({ asker, session, after })) ?? [];
    const input = messages.find((message) => message.origin?.platformMessageId === messageId);
    if (input !== undefined) await turns.stop({ session, input: input.seq });
  }

  function markNoticed(fresh: FreshStart): FreshStart {
    const noticeDue = fresh.noticeDue && noticed !== fresh.previous.session;
    noticed = fresh.previous.session;
    return { ...fresh, noticeDue };
  }

  return {
    open: () => store.conversations.open(routing()),
    async findCurrent() {
      const [conversation] = await store.conversations.findConversations({ asker: who, source });
      if (conversation === undefined) return undefined;
      const session = await store.sessions.getSession({ asker: who, session: conversation.session });
      return session && { conversation, session };
    },
    async submit(input, messageId = randomUUID()) {
      const origin = { platform: source.platform, platformMessageId: messageId };
      const content = typeof input === "string" ? { text: input } : { parts: input };
      const { messages, blobs } = prepareMessages({ role: "user", ...content, origin });
      const [message] = messages;
      if (message === undefined) throw new Error("The text was not turned into a message.");
      const accepted = await store.inbox.accept({ ...routing(), messageId, message, blobs, claim: by });
      if (accepted.duplicate) throw new Error("The store took a new message for a duplicate.");
      if (accepted.tooMany !== undefined)
        throw new Error("The store refused a message though there is no limit.");
      const { turn, session, conversation } = accepted;
      open.add(messageId);
      const after = session.messageCount - (turn === undefined ? 0 : 1);
      const ran = turn === undefined ? Promise.resolve() : turns.run(turn).then(noop, ignoreTakenOver);
      const answer = ran.then(() => waitForAnswer(session.id, after, messageId)).catch(ignoreClosed);
      // A caller that awaits the answer gets the failure; no caller has to.
      answer.catch(noop).finally(() => open.delete(messageId));
      const fresh = accepted.fresh && markNoticed(accepted.fresh);
      return {
        session,
        conversation,
        messageId,
        answer,
        withdraw() {
          const done = withdraw(session.id, after, messageId).catch(ignoreClosed);
          withdrawing.add(done);
          done.catch(noop).finally(() => withdrawing.delete(done));
          return done;
        },
        ...(fresh !== undefined && { fresh }),
      };
    },
    async recover(only) {
      const ends: TurnEnd[] = [];
      for (const { session, platform } of await store.turns.listClaimable({ now: clock.now() })) {
        if (closing.aborted) break;
        if (only !== undefined && only !== session) continue;
        // Only a process that can deliver to another platform answers its messages.
        if (platform !== source.platform) continue;
        // Messages that this process accepted are no crashed turns: `waitForAnswer` claims them.
        const claim = () => store.turns.claim({ session, runner, take: "one", own: false, now: clock.now() });
        const canContinue = (): boolean => claims !== "own" && !closing.aborted;
        for (let turn = await claim(); turn !== undefined; turn = canContinue() ? await claim() : undefined)
          ends.push(...(await turns.recover(turn)));
      }
      return ends;
    },
    async wake(process, message) {
      const woken = await store.processes.wakeAgent({ process, message, claim: by, now: clock.now() });
      // If a turn runs in the session, its end claims the message.
      if (woken.state === "woken" && woken.turn !== undefined) {
        const { session } = woken;
        turns.run(woken.turn).catch((error: unknown) => {
          if (!isTakenOver(error) && !closing.aborted) onEvent({ type: "turn_failed", session, error });
        });
      }
      return woken.state;
    },
    stop: (conversation) => turns.stop(conversation === undefined ? undefined : { conversation }),
    async cancelPending(conversation) {
      const cancelled = await store.inbox.cancelPending({ conversation, now: clock.now() });
      return cancelled.map(getText);
    },
    isAnswering: (session) => turns.isRunning(session),
    async close() {
      await turns.close();
      await Promise.allSettled(withdrawing);
    },
  };
}

/** The last message of an answer; `undefined` while it calls tools. */
function findAnswerEnd(after: readonly Message[]): Message | undefined {
  const next = after.findIndex(({ role }) => role === "user");
  const last = (next === -1 ? after : after.slice(0, next)).findLast(({ role }) => role === "assistant");
  return last?.toolCalls === undefined ? last : undefined;
}

/** The answer replaces the draft that a gateway showed before it crashed. */
function buildMessengerDeliveries({ target, draftDelivery }: Turn, answer: AgentAnswer): NewDelivery[] {
  return buildTextDeliveries(target, formatAnswer(answer, draftDelivery !== undefined), {
    draft: draftDelivery?.delivery,
  });
}

/** The store closes after the chat; callers that still wait get `undefined`. */
function ignoreClosed(error: unknown): undefined {
  if (!isStoreClosed(error)) throw error;
}

/** Another runner answers: its answer counts. */
function ignoreTakenOver(error: unknown): void {
  if (!isTakenOver(error)) throw error;
}
