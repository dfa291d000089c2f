import type { PolicyDecision } from "../../../core/conversation.ts";
import type { ConversationDetails, Diagnostics, InboundRecord } from "../../../core/diagnostics.ts";
import type { ViewVersion } from "../../../core/listing.ts";
import type { Message } from "../../../core/message.ts";
import type { Asker } from "../../../core/owner.ts";
import { pluralize } from "../../../core/pluralize.ts";
import { computeResetInstants, nextReset } from "../../../core/reset-instants.ts";
import {
  type ResetInstants,
  type ResetPolicy,
  type ResetReason,
  type ResetSettings,
  resetReason,
  resolveResetPolicy,
} from "../../../core/reset-policy.ts";
import type { Session } from "../../../core/session.ts";
import type { Store } from "../../../ports/store.ts";
import { type KeyPart, listKeyParts } from "../key-parts.ts";
import { messageNotFound } from "../sessions/read-messages.ts";
import type { ExplainTarget } from "./target.ts";

/** A conversation with the parts of its key and the time of its next reset. */
export interface ConversationExplanation extends ConversationDetails {
  readonly parts: readonly KeyPart[];
  readonly policy: ResetPolicy;
  readonly instants: ResetInstants;
  /** The reset that is due at the next message. */
  readonly due?: ResetReason;
  readonly next?: { readonly at: number; readonly reason: ResetReason };
  /** The reasons that delay a reset. */
  readonly resetBlockers: readonly string[];
  readonly decisions: readonly PolicyDecision[];
}

/** The data behind `postrider explain`. */
export interface Explanation {
  readonly what: ExplainTarget["what"];
  readonly now: number;
  readonly zone: string;
  readonly key?: string;
  readonly session?: Session;
  readonly message?: Message & { readonly shown: boolean };
  readonly arrivals: readonly InboundRecord[];
  readonly conversations: readonly ConversationExplanation[];
  readonly diagnostics?: Diagnostics;
  readonly versions: readonly ViewVersion[];
}

/** The current time and the reset rules. */
export interface ExplainContext {
  readonly now: number;
  readonly zone: string;
  readonly reset: ResetSettings;
}

export async function collectExplanation(
  store: Store,
  asker: Asker,
  target: ExplainTarget,
  moment: ExplainContext,
): Promise<Explanation> {
  const session = target.what === "key" ? undefined : target.session;
  const ask = session && { asker, session: session.id };
  const details = ask && (await store.sessions.getDiagnostics(ask));
  const placed = target.what === "key" ? target.conversations : (details?.conversations ?? []);
  const conversations: ConversationExplanation[] = [];
  for (const conversation of placed) {
    const own = details ?? (await store.sessions.getDiagnostics({ asker, session: conversation.session }));
    const decisions = await store.conversations.listDecisions({ asker, conversation: conversation.number });
    conversations.push(explainConversation(conversation, own, decisions, moment));
  }
  const seq = target.what === "message" ? target.seq : undefined;
  const message = session && seq !== undefined ? await findMessage(store, asker, session, seq) : undefined;
  return {
    what: target.what,
    now: moment.now,
    zone: moment.zone,
    ...(target.what === "key" && { key: target.key }),
    ...(session !== undefined && { session }),
    ...(message !== undefined && { message }),
    arrivals: target.what === "message" ? target.arrivals : [],
    conversations,
    ...(details !== undefined && { diagnostics: details }),
    versions: ask === undefined ? [] : await store.messages.listVersions(ask),
  };
}

function explainConversation(
  conversation: ConversationDetails,
  details: Diagnostics | undefined,
  decisions: readonly PolicyDecision[],
  { now, zone, reset }: ExplainContext,
): ConversationExplanation {
  const { identity, activeAt, scope } = conversation;
  const policy = resolveResetPolicy(reset, identity.platform, identity.chatType);
  const instants = computeResetInstants(policy, now, zone);
  const due = resetReason(activeAt, instants);
  const next = nextReset(activeAt, policy, zone);
  const running = details?.turns.find(({ state }) => state === "running");
  return {
    ...conversation,
    parts: listKeyParts(identity, scope),
    policy,
    instants,
    ...(due !== undefined && { due }),
    ...(next !== undefined && { next }),
    resetBlockers: [
      ...(running === undefined ? [] : [`turn ${running.number} is running`]),
      ...(conversation.waiting === 0 ? [] : [pluralize(conversation.waiting, "pending message")]),
      ...(details?.processes ?? []).map(({ id }) => `process ${id} runs`),
      ...(details?.holds ?? []).filter(({ until }) => until > now).map(({ name }) => `hold ${name}`),
    ],
    decisions,
  };
}

/** Finds the message among the session's own, then among those that it shows of its origin. */
async function findMessage(
  store: Store,
  asker: Asker,
  session: Session,
  seq: number,
): Promise<Message & { readonly shown: boolean }> {
  const ask = { asker, session: session.id };
  const shown = (await store.messages.readHistory(ask)) ?? [];
  const [own] =
    seq < 1 ? [] : ((await store.messages.listMessages({ ...ask, after: seq - 1, limit: 1 })) ?? []);
  const found = own ?? shown.find((message) => message.seq === seq);
  if (found === undefined) throw messageNotFound(session, seq);
  return { ...found, shown: shown.some((one) => one.session === found.session && one.seq === found.seq) };
}
