import type { PolicyDecision } from "../../../core/conversation.ts";
import type { Versions } from "../../../core/listing.ts";
import type { Message } from "../../../core/message.ts";
import type { Asker } from "../../../core/owner.ts";
import { nextReset, resetInstants } from "../../../core/reset-instants.ts";
import {
  policyFor,
  type ResetInstants,
  type ResetPolicy,
  type ResetReason,
  type ResetSettings,
  resetReason,
} from "../../../core/reset-policy.ts";
import type { Session } from "../../../core/session.ts";
import type { Arrival, PlacedConversation, Surroundings } from "../../../core/surroundings.ts";
import type { Store } from "../../../ports/store.ts";
import { type KeyPart, keyParts } from "../key-parts.ts";
import { noMessage } from "../sessions/reading.ts";
import type { Target } from "./target.ts";

/** A conversation with the reasons why it is there, and when it would start afresh. */
export interface ExplainedConversation extends PlacedConversation {
  readonly parts: readonly KeyPart[];
  readonly policy: ResetPolicy;
  readonly instants: ResetInstants;
  /** The policy asks for a fresh start at the next message. */
  readonly due?: ResetReason;
  readonly next?: { readonly at: number; readonly reason: ResetReason };
  /** What keeps it from starting afresh for now. */
  readonly keptBy: readonly string[];
  readonly decisions: readonly PolicyDecision[];
}

/** Everything there is to say. */
export interface Explained {
  readonly what: Target["what"];
  readonly now: number;
  readonly zone: string;
  readonly key?: string;
  readonly session?: Session;
  readonly message?: Message & { readonly shown: boolean };
  readonly arrivals: readonly Arrival[];
  readonly conversations: readonly ExplainedConversation[];
  readonly around?: Surroundings;
  readonly versions: readonly Versions[];
}

/** When it is, and by which rules. */
export interface Moment {
  readonly now: number;
  readonly zone: string;
  readonly reset: ResetSettings;
}

export async function gather(store: Store, asker: Asker, target: Target, moment: Moment): Promise<Explained> {
  const session = target.what === "key" ? undefined : target.session;
  const ask = session && { asker, session: session.id };
  const around = ask && (await store.surroundings(ask));
  const placed = target.what === "key" ? target.conversations : (around?.conversations ?? []);
  const conversations: ExplainedConversation[] = [];
  for (const conversation of placed) {
    const own = around ?? (await store.surroundings({ asker, session: conversation.session }));
    const decisions = await store.decisions({ asker, conversation: conversation.number });
    conversations.push(explained(conversation, own, decisions, moment));
  }
  const seq = target.what === "message" ? target.seq : undefined;
  const message = session && seq !== undefined ? await messageAt(store, asker, session, seq) : undefined;
  return {
    what: target.what,
    now: moment.now,
    zone: moment.zone,
    ...(target.what === "key" && { key: target.key }),
    ...(session !== undefined && { session }),
    ...(message !== undefined && { message }),
    arrivals: target.what === "message" ? target.arrivals : [],
    conversations,
    ...(around !== undefined && { around }),
    versions: ask === undefined ? [] : await store.versions(ask),
  };
}

function explained(
  conversation: PlacedConversation,
  around: Surroundings | undefined,
  decisions: readonly PolicyDecision[],
  { now, zone, reset }: Moment,
): ExplainedConversation {
  const { identity, activeAt, scope } = conversation;
  const policy = policyFor(reset, identity.platform, identity.chatType);
  const instants = resetInstants(policy, now, zone);
  const due = resetReason(activeAt, instants);
  const next = nextReset(activeAt, policy, zone);
  const running = around?.turns.find(({ state }) => state === "running");
  return {
    ...conversation,
    parts: keyParts(identity, scope),
    policy,
    instants,
    ...(due !== undefined && { due }),
    ...(next !== undefined && { next }),
    keptBy: [
      ...(running === undefined ? [] : [`turn ${running.number} is running`]),
      ...(conversation.waiting === 0 ? [] : [`${conversation.waiting} waiting for an answer`]),
      ...(around?.processes ?? []).map(({ id }) => `process ${id} runs`),
      ...(around?.holds ?? []).filter(({ until }) => until > now).map(({ name }) => `the hold ${name}`),
    ],
    decisions,
  };
}

/** Of its own messages, else of those that it shows of another session. */
async function messageAt(
  store: Store,
  asker: Asker,
  session: Session,
  seq: number,
): Promise<Message & { readonly shown: boolean }> {
  const ask = { asker, session: session.id };
  const shown = (await store.history(ask)) ?? [];
  const [own] = seq < 1 ? [] : ((await store.messages({ ...ask, after: seq - 1, limit: 1 })) ?? []);
  const found = own ?? shown.find((message) => message.seq === seq);
  if (found === undefined) throw noMessage(session, seq);
  return { ...found, shown: shown.some((one) => one.session === found.session && one.seq === found.seq) };
}
