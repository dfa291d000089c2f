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

/** The same as the JSON, for people. */
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
      message?.role === "user" ? "It was put here by a program, not received from a platform." : undefined;
    return [by ?? "It was written here: only what people send comes in from a platform."];
  }
  return arrivals.flatMap(({ platform, chatId, messageId, at, state, turn }) => [
    `Received from ${platform}, chat ${toOneLine(chatId)}, as its message ${toOneLine(messageId)}, ${formatDateTime(at)}: ${INBOUND_STATE_TEXT[state]}.`,
    ...(turn === undefined
      ? []
      : [
          `Turn ${turn.number} took it up ${formatDateTime(turn.startedAt)}, attempt ${turn.attempt}: ${turn.state}.`,
        ]),
  ]);
}

const INBOUND_STATE_TEXT: Readonly<Record<InboundState, string>> = {
  waiting: "it waits for its turn",
  running: "its turn is running",
  done: "it was answered",
  cancelled: "it was cancelled before its turn",
  unanswered: "it is being acted on",
  refused: "it was not taken, because too much waited already",
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
      ["person", person === undefined ? "nobody: it belongs to the chat" : formatOwner(person)],
      [
        "rules",
        `${formatScopeRule("groups", conversation.scope.groupsPerUser)}, ${formatScopeRule("threads", conversation.scope.threadsPerUser)} (as they were when it began)`,
      ],
      ["policy", formatResetPolicy(policy, zone === systemZone() ? undefined : zone)],
      ["last active", instant(activeAt)],
      ["idle before", instant(instants.idleBefore)],
      ["daily before", instant(instants.dailyBefore)],
      // Times are shown on this machine's clock, whichever zone the daily hour is meant in.
      ["now", `${formatDateTime(now)} (${systemZone()})`],
      [
        "starts afresh",
        due === undefined
          ? next &&
            `${formatDateTime(next.at)}, ${RESET_REASON_LABELS[next.reason]}${next.reason === "idle" ? ", unless something is said before" : ""}`
          : `at the next message: ${RESET_REASON_LABELS[due]}`,
      ],
      ["kept by", resetBlockers.length === 0 ? "nothing" : toOneLine(resetBlockers.join(", "))],
      ["waiting", waiting === 0 ? undefined : String(waiting)],
    ]),
    "",
    ...(conversation.decisions.length === 0
      ? []
      : ["What was decided, newest first:", ...conversation.decisions.map(formatDecision), ""]),
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
      ? `No chat goes on in it, so nothing resets it. It can be taken up again: postrider -r ${session.handle}`
      : "No chat points at it: it is addressed by its id, so nothing resets it.",
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
    const aside =
      "deferredAt" in status && status.deferredAt !== undefined
        ? `, later ones no longer wait for it since ${formatDateTime(status.deferredAt)}`
        : "";
    return `  delivery ${number} to ${target.platform} ${toOneLine(target.chatId)}: ${status.state}, attempts ${status.attempts}${aside}${error}`;
  });
  // What its conversations decided stands with them; one that was left has only this.
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
    ...part("What was decided, newest first", decided),
    ...part("Turns, newest first", turns),
    ...part("Deliveries, newest first", sent),
    ...part("Holds", held),
    ...part("What it showed, newest first", views),
  ];
}
