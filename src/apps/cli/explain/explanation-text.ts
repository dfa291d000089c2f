import type { PolicyDecision } from "../../../core/conversation.ts";
import { DECISION_LABELS, formatResetPolicy, RESET_REASON_LABELS } from "../../../core/decision-labels.ts";
import type { InboundState } from "../../../core/diagnostics.ts";
import { toOneLine } from "../../../core/printable.ts";
import { systemZone } from "../../../system/system-clock.ts";
import { formatDateTime } from "../format-time.ts";
import type { Io } from "../io.ts";
import { getOutputWidth } from "../io.ts";
import { formatKeyParts } from "../key-parts.ts";
import { formatMessageLines } from "../message-text.ts";
import { formatSessionHeader } from "../sessions/header.ts";
import { formatOwner } from "../sessions/session-rows.ts";
import { createStyle, type Style } from "../style.ts";
import { formatFacts, formatTable } from "../table.ts";
import type { ConversationExplanation, Explanation } from "./collect-explanation.ts";

/** Formats the explanation as text. */
export function formatExplanation(io: Io, explained: Explanation): string[] {
  const style = createStyle(io);
  const { session, message, conversations, key } = explained;
  const width = getOutputWidth(io);
  return [
    ...(key === undefined
      ? []
      : [
          `${conversations.length === 1 ? "One conversation has" : `${conversations.length} conversations have`} the key ${toOneLine(key)}.`,
          "",
        ]),
    ...(message === undefined ? [] : describeMessage(explained, style)),
    ...(message === undefined && explained.what === "message" ? [...describeInbound(explained), ""] : []),
    ...(session === undefined
      ? []
      : [style.bold("The session"), ...formatSessionHeader(session, explained.now), ""]),
    ...conversations.flatMap((conversation) => formatConversation(conversation, explained, style, width)),
    ...(session !== undefined && conversations.length === 0 ? [...describeDetached(explained), ""] : []),
    ...describeHistory(explained, style),
  ];
}

function describeMessage(explained: Explanation, style: Style): string[] {
  const { message, session } = explained;
  if (message === undefined || session === undefined) return [];
  const shown = { session: session.id, isOwn: true, notShown: !message.shown };
  return [
    style.bold("The message"),
    ...formatMessageLines(message, shown, style),
    ...describeInbound(explained),
    "",
  ];
}

function describeInbound({ arrivals, message }: Explanation): string[] {
  if (arrivals.length === 0) {
    const by =
      message?.role === "user" ? "A program added it; it was not received from a platform." : undefined;
    return [by ?? "It was created here: only messages of people are received from a platform."];
  }
  return arrivals.flatMap(({ platform, chatId, messageId, at, state, turn }) => [
    `Received from ${platform}, chat ${toOneLine(chatId)}, as its message ${toOneLine(messageId)}, ${formatDateTime(at)}: ${INBOUND_STATE_TEXT[state]}.`,
    ...(turn === undefined
      ? []
      : [
          `Turn ${turn.number} started ${formatDateTime(turn.startedAt)}, attempt ${turn.attempt}: ${turn.state}.`,
        ]),
  ]);
}

const INBOUND_STATE_TEXT: Readonly<Record<InboundState, string>> = {
  waiting: "it is pending",
  running: "its turn is running",
  done: "it was answered",
  cancelled: "it was cancelled before its turn",
  unanswered: "it is a command in progress",
  refused: "it was refused, because too many messages were pending",
};

function formatConversation(
  conversation: ConversationExplanation,
  { now, zone, what }: Explanation,
  style: Style,
  width: number,
): string[] {
  const { account, person, policy, instants, activeAt, next, due, resetBlockers, waiting } = conversation;
  const columns = [{ heading: "PART" }, { heading: "VALUE", least: 8 }, { heading: "WHY", least: 12 }];
  const parts = formatKeyParts(conversation.parts).map((row) => row.map(toOneLine));
  const instant = (at: number | undefined): string | undefined =>
    at === undefined ? undefined : formatDateTime(at);
  return [
    style.bold(`Conversation ${conversation.number}: ${toOneLine(conversation.key)}`),
    ...formatTable(columns, parts, width, style.dim),
    "",
    ...formatFacts([
      ["session", what === "key" ? conversation.handle : undefined],
      ["account", account && toOneLine([account.name, account.id, account.altId].filter(Boolean).join(", "))],
      ["person", person === undefined ? "none: it belongs to the chat" : formatOwner(person)],
      [
        "rules",
        `${formatScopeRule("groups", conversation.scope.groupsPerUser)}, ${formatScopeRule("threads", conversation.scope.threadsPerUser)} (as set when it started)`,
      ],
      ["policy", formatResetPolicy(policy, zone === systemZone() ? undefined : zone)],
      ["last active", instant(activeAt)],
      ["idle before", instant(instants.idleBefore)],
      ["daily before", instant(instants.dailyBefore)],
      // Times are in this machine's zone, even if the daily hour has another.
      ["now", `${formatDateTime(now)} (${systemZone()})`],
      [
        "next reset",
        due === undefined
          ? next &&
            `${formatDateTime(next.at)}, ${RESET_REASON_LABELS[next.reason]}${next.reason === "idle" ? ", unless a message comes before" : ""}`
          : `at the next message: ${RESET_REASON_LABELS[due]}`,
      ],
      ["delayed by", resetBlockers.length === 0 ? "nothing" : toOneLine(resetBlockers.join(", "))],
      ["pending", waiting === 0 ? undefined : String(waiting)],
    ]),
    "",
    ...(conversation.decisions.length === 0
      ? []
      : ["Decisions, newest first:", ...conversation.decisions.map(formatDecision), ""]),
  ];
}

function formatScopeRule(what: string, perUser: boolean): string {
  return perUser ? `${what} per person` : `${what} shared`;
}

function formatDecision({ at, decision, reason, from, to }: PolicyDecision): string {
  const because = reason === undefined ? "" : ` (${toOneLine(reason)})`;
  const way = [from && `from ${from}`, to && `to ${to}`].filter(Boolean).join(" ");
  return `  ${formatDateTime(at)}  ${DECISION_LABELS[decision]}${because}${way === "" ? "" : `: ${way}`}`;
}

function describeDetached({ session }: Explanation): string[] {
  const ended = session?.endedAt !== undefined;
  return [
    ended
      ? `No chat uses it, so nothing resets it. To continue it: postrider -r ${session.handle}`
      : "No chat uses it. It is addressed by its id, so nothing resets it.",
  ];
}

function describeHistory({ diagnostics, versions }: Explanation, style: Style): string[] {
  const turns = (diagnostics?.turns ?? []).map(
    ({ number, state, startedAt, attempt }) =>
      `  ${formatDateTime(startedAt)}  turn ${number}, attempt ${attempt}: ${state}`,
  );
  const sent = (diagnostics?.deliveries ?? []).map(({ number, target, status }) => {
    const error =
      "lastError" in status && status.lastError !== undefined ? `: ${toOneLine(status.lastError)}` : "";
    const deferred =
      "deferredAt" in status && status.deferredAt !== undefined
        ? `, deferred since ${formatDateTime(status.deferredAt)}`
        : "";
    return `  delivery ${number} to ${target.platform} ${toOneLine(target.chatId)}: ${status.state}, attempts ${status.attempts}${deferred}${error}`;
  });
  // Decisions of its current conversations are shown with them.
  const left = new Set((diagnostics?.conversations ?? []).map(({ number }) => number));
  const decided = (diagnostics?.decisions ?? [])
    .filter(({ conversation }) => !left.has(conversation))
    .map(formatDecision);
  const held = (diagnostics?.holds ?? []).map(
    ({ name, until }) => `  ${toOneLine(name)} until ${formatDateTime(until)}`,
  );
  const views = versions.map(
    ({ version, kind, at, length }) =>
      `  ${formatDateTime(at)}  version ${version}, ${kind}: shows ${length}`,
  );
  const part = (heading: string, lines: readonly string[]): string[] =>
    lines.length === 0 ? [] : [style.bold(heading), ...lines, ""];
  return [
    ...part("Decisions, newest first", decided),
    ...part("Turns, newest first", turns),
    ...part("Deliveries, newest first", sent),
    ...part("Holds", held),
    ...part("Versions, newest first", views),
  ];
}
