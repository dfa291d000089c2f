import type { PolicyDecision } from "../../../core/conversation.ts";
import type { Delivery } from "../../../core/delivery.ts";
import { sessionToJson } from "../../../core/json.ts";
import { resetPolicyToJson } from "../../../core/reset-policy.ts";
import { sourceToJson } from "../../../core/source.ts";
import type { Arrival, KnownAccount, TurnRecord } from "../../../core/surroundings.ts";
import { identityJson } from "../key-parts.ts";
import { messageJson } from "../output-json.ts";
import type { Explained, ExplainedConversation } from "./gathering.ts";

export function explainedJson(explained: Explained): object {
  const { what, now, zone, key, session, message, around } = explained;
  return {
    what,
    now,
    zone,
    key: key ?? null,
    session: session === undefined ? null : sessionToJson(session),
    message: message === undefined ? null : { ...messageJson(message), shown: message.shown },
    arrivals: explained.arrivals.map(arrivalJson),
    conversations: explained.conversations.map(conversationJson),
    turns: (around?.turns ?? []).map(turnJson),
    deliveries: (around?.deliveries ?? []).map(deliveryJson),
    decisions: (around?.decisions ?? []).map((decision) => ({
      conversation: decision.conversation,
      ...decisionJson(decision),
    })),
    holds: around?.holds ?? [],
    processes: around?.processes ?? [],
    versions: explained.versions,
  };
}

function conversationJson(conversation: ExplainedConversation): object {
  const { scope, account, instants, next } = conversation;
  return {
    number: conversation.number,
    key: conversation.key,
    identity: identityJson(conversation.identity),
    parts: conversation.parts,
    groups_per_user: scope.groupsPerUser,
    threads_per_user: scope.threadsPerUser,
    account: account === undefined ? null : accountJson(account),
    person: conversation.person ?? null,
    session: conversation.session,
    handle: conversation.handle,
    created_at: conversation.createdAt,
    active_at: conversation.activeAt,
    policy: resetPolicyToJson(conversation.policy),
    idle_before: instants.idleBefore ?? null,
    daily_before: instants.dailyBefore ?? null,
    due: conversation.due ?? null,
    next_reset_at: next?.at ?? null,
    next_reset_reason: next?.reason ?? null,
    kept_by: conversation.keptBy,
    waiting: conversation.waiting,
    decisions: conversation.decisions.map(decisionJson),
  };
}

function accountJson({ platform, id, altId, name, person }: KnownAccount): object {
  return { platform, id: id ?? null, alt_id: altId ?? null, name: name ?? null, person };
}

function decisionJson(decision: PolicyDecision): object {
  return {
    at: decision.at,
    decision: decision.decision,
    reason: decision.reason ?? null,
    active_at: decision.activeAt ?? null,
    idle_before: decision.idleBefore ?? null,
    daily_before: decision.dailyBefore ?? null,
    from: decision.from ?? null,
    to: decision.to ?? null,
  };
}

function arrivalJson(arrival: Arrival): object {
  return {
    platform: arrival.platform,
    chat_id: arrival.chatId,
    message_id: arrival.messageId,
    at: arrival.at,
    state: arrival.state,
    conversation: arrival.conversation,
    session: arrival.session ?? null,
    seq: arrival.seq ?? null,
    turn: arrival.turn === undefined ? null : turnJson(arrival.turn),
  };
}

function turnJson(turn: TurnRecord): object {
  return {
    number: turn.number,
    conversation: turn.conversation,
    runner: turn.runner,
    attempt: turn.attempt,
    state: turn.state,
    started_at: turn.startedAt,
    ended_at: turn.endedAt ?? null,
  };
}

function deliveryJson({ number, turn, target, status }: Delivery): object {
  return {
    number,
    turn: turn ?? null,
    target: sourceToJson(target),
    state: status.state,
    attempts: status.attempts,
    next_at: status.state === "waiting" ? status.nextAt : null,
    settled_at: "at" in status ? status.at : null,
    platform_message_id: (status.state === "sent" && status.platformMessageId) || null,
    last_error: ("lastError" in status && status.lastError) || null,
    aside_at: ("asideAt" in status && status.asideAt) || null,
  };
}
