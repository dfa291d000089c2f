import type { PolicyDecision } from "../../../core/conversation.ts";
import type { Delivery } from "../../../core/delivery.ts";
import type { ConversationAccount, InboundRecord, TurnRecord } from "../../../core/diagnostics.ts";
import { sessionToJson } from "../../../core/json.ts";
import { resetPolicyToJson } from "../../../core/reset-policy.ts";
import { sourceToJson } from "../../../core/source.ts";
import { formatIdentityJson } from "../key-parts.ts";
import { formatMessageJson } from "../output-json.ts";
import type { ConversationExplanation, Explanation } from "./collect-explanation.ts";

export function formatExplanationJson(explained: Explanation): object {
  const { what, now, zone, key, session, message, diagnostics } = explained;
  return {
    what,
    now,
    zone,
    key: key ?? null,
    session: session === undefined ? null : sessionToJson(session),
    message: message === undefined ? null : { ...formatMessageJson(message), shown: message.shown },
    arrivals: explained.arrivals.map(formatInboundJson),
    conversations: explained.conversations.map(formatConversationJson),
    turns: (diagnostics?.turns ?? []).map(formatTurnJson),
    deliveries: (diagnostics?.deliveries ?? []).map(formatDeliveryJson),
    decisions: (diagnostics?.decisions ?? []).map((decision) => ({
      conversation: decision.conversation,
      ...formatDecisionJson(decision),
    })),
    holds: diagnostics?.holds ?? [],
    processes: diagnostics?.processes ?? [],
    versions: explained.versions,
  };
}

function formatConversationJson(conversation: ConversationExplanation): object {
  const { scope, account, instants, next } = conversation;
  return {
    number: conversation.number,
    key: conversation.key,
    identity: formatIdentityJson(conversation.identity),
    parts: conversation.parts,
    groups_per_user: scope.groupsPerUser,
    threads_per_user: scope.threadsPerUser,
    account: account === undefined ? null : formatKnownAccountJson(account),
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
    kept_by: conversation.resetBlockers,
    waiting: conversation.waiting,
    decisions: conversation.decisions.map(formatDecisionJson),
  };
}

function formatKnownAccountJson({ platform, id, altId, name, person }: ConversationAccount): object {
  return { platform, id: id ?? null, alt_id: altId ?? null, name: name ?? null, person };
}

function formatDecisionJson(decision: PolicyDecision): object {
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

function formatInboundJson(arrival: InboundRecord): object {
  return {
    platform: arrival.platform,
    chat_id: arrival.chatId,
    message_id: arrival.messageId,
    at: arrival.at,
    state: arrival.state,
    conversation: arrival.conversation,
    session: arrival.session ?? null,
    seq: arrival.seq ?? null,
    turn: arrival.turn === undefined ? null : formatTurnJson(arrival.turn),
  };
}

function formatTurnJson(turn: TurnRecord): object {
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

function formatDeliveryJson({ number, turn, target, status }: Delivery): object {
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
    aside_at: ("deferredAt" in status && status.deferredAt) || null,
  };
}
