import { randomUUID } from "node:crypto";
import type { Conversation, FreshStart, Opened, Routing } from "../core/conversation.ts";
import type { NewDelivery } from "../core/delivery.ts";
import { PostriderError } from "../core/errors.ts";
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
import { type Around, activeTurns, isTakenOver, noop, type TurnEvent } from "./active-turns.ts";
import type { AgentAnswer } from "./answer-recorder.ts";
import type { PreparedTurn, TurnEnd } from "./run-turn.ts";
import { buildTextDeliveries, formatAnswer } from "./text-deliveries.ts";

export type { TurnEvent as TalkEvent } from "./active-turns.ts";

export interface AgentChatOptions {
  readonly store: Store;
  /** Who answers, from the next turn on. */
  agent(): Agent;
  readonly runner: string;
  readonly clock: Clock;
  readonly source: Source;
  /** How what is said here finds its session, as things are now. */
  routing(): Routing;
  /**
   * What waits behind an answer is answered here too, whoever said it (`all`); or not, where the place may be left at any
   * moment: whoever said it is told of the end, and takes it up (`one`); or nothing is ever answered here that was said
   * elsewhere (`own`). Default `all`.
   */
  readonly claims?: "all" | "one" | "own";
  /** What the place adds to a turn. */
  around?(turn: Turn): Around;
  /** What the model is told in a turn that somebody in a messenger asked for, who shares the session. */
  prepareMessengerTurn?(turn: Turn): Promise<PreparedTurn>;
  /** Told of everything that this process answers, as it happens. */
  readonly onEvent: (event: TurnEvent) => void;
}

/** What was said is stored. Its answer comes when its turn has come, here or in another process. */
export interface SubmittedMessage {
  readonly session: Session;
  readonly conversation: Conversation;
  /** Why the conversation starts afresh; its notice is due once, however many messages come before the first answer. */
  readonly fresh?: FreshStart;
  readonly messageId: string;
  /** The stored answer; `undefined` if the message was cancelled, or the talk closed, before its turn. */
  readonly answer: Promise<Message | undefined>;
  /** It will not be answered, or its answer ends with what there is of it. Resolves when that is stored. */
  withdraw(): Promise<void>;
}

/** One place where the owner of the home talks with the agent: a terminal, a pipe, a thread of an editor. */
export interface AgentChat {
  /** The place's conversation, after the reset policy has spoken. */
  open(): Promise<Opened>;
  /** The same without touching anything. */
  findCurrent(): Promise<{ readonly conversation: Conversation; readonly session: Session } | undefined>;
  /** Under an id of its own, unless one is given. */
  submit(text: string | readonly (Part | DataPart)[], messageId?: string): Promise<SubmittedMessage>;
  /**
   * Runs the turns that a crashed process left in a place like this one, in any session or in one. They run like any other
   * turn. Resolves with how each ended.
   */
  recover(session?: string): Promise<readonly TurnEnd[]>;
  /**
   * The end of a program is told to the agent, which answers in the program's own session, as if somebody here had said it.
   * Resolves when that is stored.
   */
  wake(process: string, message: NewMessage): Promise<WakeResult["state"]>;
  /**
   * Ends the answers that are being written here, or those to one conversation; resolves when they are stored. False if
   * there are none.
   */
  stop(conversation?: number): Promise<boolean>;
  /** What waits in the place's conversation will not run. Returns the texts. */
  cancelPending(conversation: number): Promise<readonly string[]>;
  /** Whether an answer is being written here: in this session, or in any. */
  isAnswering(session?: string): boolean;
  /**
   * Ends what is being answered, keeping what there is, and begins nothing more. What waits, and what others wait for, is
   * left to them or the next start.
   */
  close(): Promise<void>;
}

const who = { person: OWNER };
/** The steps of the flow are the program's own. */
const asker = { everyone: true } as const;

export function openAgentChat(options: AgentChatOptions): AgentChat {
  const { store, clock, runner, source, routing, claims = "all", onEvent } = options;
  const by: ClaimBy = { runner, take: "one", ...(claims === "own" && { own: true }) };
  /** Ids of what was said here and has no answer yet. */
  const open = new Set<string | undefined>();
  const isOwn = ({ origin }: Message): boolean => open.has(origin?.platformMessageId);
  const turns = activeTurns({
    store,
    clock,
    agent: () => options.agent(),
    nextClaim: () => by,
    around: (turn) =>
      turn.target.platform === source.platform
        ? { ...options.around?.(turn), showsNotice: true }
        : // Somebody in a messenger shares the session: what they asked is answered here and sent by the gateway.
          {
            prepare: async () => (await options.prepareMessengerTurn?.(turn)) ?? {},
            deliveries: async (answer) => buildMessengerDeliveries(turn, answer),
          },
    claimsNext: claims === "all",
    isOwn,
    onEvent,
  });
  const { closing } = turns;
  const withdrawing = new Set<Promise<void>>();
  /** The session before the fresh start of which the person has been told here. */
  let noticed: string | undefined;

  /** The stored answer to one of our messages. While somebody else is answering, it waits its turn. */
  async function answered(accepted: string, from: number, messageId: string): Promise<Message | undefined> {
    let [session, after] = [accepted, from];
    for (;;) {
      const change = awaitChange(store, closing);
      try {
        const waiting = await store.inbox.listPending({ asker, session });
        const said = (await store.messages.listMessages({ asker, session, after })) ?? [];
        const at = said.findIndex((message) => message.origin?.platformMessageId === messageId);
        const answer = at === -1 ? undefined : findAnswerEnd(said.slice(at + 1));
        if (answer !== undefined || closing.aborted) return answer;
        if (at === -1 && !waiting.some((message) => message.origin?.platformMessageId === messageId)) {
          const [conversation] = await store.conversations.findConversations({ asker: who, source });
          if (conversation === undefined || conversation.session === session) return undefined;
          // Another terminal has moved the conversation, and what waits in it goes along.
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
    const said = (await store.messages.listMessages({ asker, session, after })) ?? [];
    const input = said.find((message) => message.origin?.platformMessageId === messageId);
    if (input !== undefined) await turns.stop({ session, input: input.seq });
  }

  function toldOnce(fresh: FreshStart): FreshStart {
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
      const said = typeof input === "string" ? { text: input } : { parts: input };
      const { messages, blobs } = prepareMessages({ role: "user", ...said, origin });
      const [message] = messages;
      if (message === undefined) throw new Error("a text became no message");
      const accepted = await store.inbox.accept({ ...routing(), messageId, message, blobs, claim: by });
      if (accepted.duplicate) throw new Error("a new message was taken for an old one");
      if (accepted.tooMany !== undefined) throw new Error("a message was refused though any number may wait");
      const { turn, session, conversation } = accepted;
      open.add(messageId);
      const after = session.messageCount - (turn === undefined ? 0 : 1);
      const ran = turn === undefined ? Promise.resolve() : turns.run(turn).then(noop, ignoreTakenOver);
      const answer = ran.then(() => answered(session.id, after, messageId)).catch(ignoreClosed);
      // Whoever waits for the answer learns of a failure; nobody has to wait.
      answer.catch(noop).finally(() => open.delete(messageId));
      const fresh = accepted.fresh && toldOnce(accepted.fresh);
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
        // Other platforms' messages are answered by whoever can deliver there.
        if (platform !== source.platform) continue;
        const claim = () => store.turns.claim({ session, runner, take: "one", now: clock.now() });
        if (claims === "own") {
          // Only the editor process that accepted it could answer it.
          const turn = await claim();
          if (turn !== undefined) ends.push(await turns.endAbandoned(turn));
          continue;
        }
        for (let turn = await claim(); turn !== undefined; turn = closing.aborted ? undefined : await claim())
          ends.push(...(await turns.rerun(turn)));
      }
      return ends;
    },
    async wake(process, message) {
      const woken = await store.processes.wakeAgent({ process, message, claim: by, now: clock.now() });
      // What waits behind a turn that runs here is taken up at its end.
      if (woken.state === "woken" && woken.turn !== undefined) {
        const { session } = woken;
        turns.run(woken.turn).catch((error: unknown) => {
          if (!isTakenOver(error) && !closing.aborted) onEvent({ type: "broken", session, error });
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

/** The answer's last message, once there is one: what calls a tool is not at its end. */
function findAnswerEnd(after: readonly Message[]): Message | undefined {
  const next = after.findIndex(({ role }) => role === "user");
  const last = (next === -1 ? after : after.slice(0, next)).findLast(({ role }) => role === "assistant");
  return last?.toolCalls === undefined ? last : undefined;
}

/** What a gateway had shown of the answer before it fell becomes the whole answer. */
function buildMessengerDeliveries({ target, draftDelivery }: Turn, answer: AgentAnswer): NewDelivery[] {
  return buildTextDeliveries(target, formatAnswer(answer, draftDelivery !== undefined), {
    draft: draftDelivery?.delivery,
  });
}

/** The store goes when the talk has closed, and with it whoever still waited. */
function ignoreClosed(error: unknown): undefined {
  if (!(error instanceof PostriderError && error.code === "closed")) throw error;
}

/** The other runner's answer is as good as ours. */
function ignoreTakenOver(error: unknown): void {
  if (!isTakenOver(error)) throw error;
}
