import type { PolicyDecision } from "../../../core/conversation.ts";
import { DECISION_WORDS, policyWords, RESET_REASON_WORDS } from "../../../core/decision-words.ts";
import { onOneLine } from "../../../core/printable.ts";
import type { ArrivalState } from "../../../core/surroundings.ts";
import { systemZone } from "../../../system/system-clock.ts";
import type { Io } from "../io.ts";
import { widthOf } from "../io.ts";
import { keyPartRows } from "../key-parts.ts";
import { messageLines } from "../message-text.ts";
import { dateAndTime } from "../relative-time.ts";
import { headerLines } from "../sessions/header.ts";
import { ownerName } from "../sessions/rows.ts";
import { type Style, styleOf } from "../style.ts";
import { facts, table } from "../table.ts";
import type { Explained, ExplainedConversation } from "./gathering.ts";

/** The same as the JSON, for people. */
export function explainedLines(io: Io, explained: Explained): string[] {
  const style = styleOf(io);
  const { session, message, conversations, key } = explained;
  const width = widthOf(io);
  return [
    ...(key === undefined
      ? []
      : [
          `${conversations.length === 1 ? "One conversation has" : `${conversations.length} conversations have`} the key ${onOneLine(key)}.`,
          "",
        ]),
    ...(message === undefined ? [] : aboutMessage(explained, style)),
    ...(message === undefined && explained.what === "message" ? [...arrivalLines(explained), ""] : []),
    ...(session === undefined ? [] : [style.bold("The session"), ...headerLines(session, explained.now), ""]),
    ...conversations.flatMap((conversation) => aboutConversation(conversation, explained, style, width)),
    ...(session !== undefined && conversations.length === 0 ? [...nobodyThere(explained), ""] : []),
    ...history(explained, style),
  ];
}

function aboutMessage(explained: Explained, style: Style): string[] {
  const { message, session } = explained;
  if (message === undefined || session === undefined) return [];
  const shown = { session: session.id, isOwn: true, notShown: !message.shown };
  return [style.bold("The message"), ...messageLines(message, shown, style), ...arrivalLines(explained), ""];
}

function arrivalLines({ arrivals, message }: Explained): string[] {
  if (arrivals.length === 0) {
    const by =
      message?.role === "user" ? "It was put here by a program, not received from a platform." : undefined;
    return [by ?? "It was written here: only what people send comes in from a platform."];
  }
  return arrivals.flatMap(({ platform, chatId, messageId, at, state, turn }) => [
    `Received from ${platform}, chat ${onOneLine(chatId)}, as its message ${onOneLine(messageId)}, ${dateAndTime(at)}: ${ARRIVED[state]}.`,
    ...(turn === undefined
      ? []
      : [
          `Turn ${turn.number} took it up ${dateAndTime(turn.startedAt)}, attempt ${turn.attempt}: ${turn.state}.`,
        ]),
  ]);
}

const ARRIVED: Readonly<Record<ArrivalState, string>> = {
  waiting: "it waits for its turn",
  running: "its turn is running",
  done: "it was answered",
  cancelled: "it was cancelled before its turn",
  unanswered: "it is being acted on",
  refused: "it was not taken, because too much waited already",
};

function aboutConversation(
  conversation: ExplainedConversation,
  { now, zone, what }: Explained,
  style: Style,
  width: number,
): string[] {
  const { account, person, policy, instants, activeAt, next, due, keptBy, waiting } = conversation;
  const columns = [{ heading: "PART" }, { heading: "VALUE", least: 8 }, { heading: "WHY", least: 12 }];
  const parts = keyPartRows(conversation.parts).map((row) => row.map(onOneLine));
  const instant = (at: number | undefined): string | undefined =>
    at === undefined ? undefined : dateAndTime(at);
  return [
    style.bold(`Conversation ${conversation.number}: ${onOneLine(conversation.key)}`),
    ...table(columns, parts, width, style.dim),
    "",
    ...facts([
      ["session", what === "key" ? conversation.handle : undefined],
      ["account", account && onOneLine([account.name, account.id, account.altId].filter(Boolean).join(", "))],
      ["person", person === undefined ? "nobody: it belongs to the chat" : ownerName(person)],
      [
        "rules",
        `${rule("groups", conversation.scope.groupsPerUser)}, ${rule("threads", conversation.scope.threadsPerUser)} (as they were when it began)`,
      ],
      ["policy", policyWords(policy, zone === systemZone() ? undefined : zone)],
      ["last active", instant(activeAt)],
      ["idle before", instant(instants.idleBefore)],
      ["daily before", instant(instants.dailyBefore)],
      // Times are shown on this machine's clock, whichever zone the daily hour is meant in.
      ["now", `${dateAndTime(now)} (${systemZone()})`],
      [
        "starts afresh",
        due === undefined
          ? next &&
            `${dateAndTime(next.at)}, ${RESET_REASON_WORDS[next.reason]}${next.reason === "idle" ? ", unless something is said before" : ""}`
          : `at the next message: ${RESET_REASON_WORDS[due]}`,
      ],
      ["kept by", keptBy.length === 0 ? "nothing" : onOneLine(keptBy.join(", "))],
      ["waiting", waiting === 0 ? undefined : String(waiting)],
    ]),
    "",
    ...(conversation.decisions.length === 0
      ? []
      : ["What was decided, newest first:", ...conversation.decisions.map(decisionLine), ""]),
  ];
}

function rule(what: string, perUser: boolean): string {
  return perUser ? `${what} per person` : `${what} shared`;
}

function decisionLine({ at, decision, reason, from, to }: PolicyDecision): string {
  const because = reason === undefined ? "" : ` (${onOneLine(reason)})`;
  const way = [from && `from ${from}`, to && `to ${to}`].filter(Boolean).join(" ");
  return `  ${dateAndTime(at)}  ${DECISION_WORDS[decision]}${because}${way === "" ? "" : `: ${way}`}`;
}

function nobodyThere({ session }: Explained): string[] {
  const ended = session?.endedAt !== undefined;
  return [
    ended
      ? `No chat goes on in it, so nothing resets it. It can be taken up again: postrider -r ${session.handle}`
      : "No chat points at it: it is addressed by its id, so nothing resets it.",
  ];
}

function history({ around, versions }: Explained, style: Style): string[] {
  const turns = (around?.turns ?? []).map(
    ({ number, state, startedAt, attempt }) =>
      `  ${dateAndTime(startedAt)}  turn ${number}, attempt ${attempt}: ${state}`,
  );
  const sent = (around?.deliveries ?? []).map(({ number, target, status }) => {
    const error =
      "lastError" in status && status.lastError !== undefined ? `: ${onOneLine(status.lastError)}` : "";
    const aside =
      "asideAt" in status && status.asideAt !== undefined
        ? `, later ones no longer wait for it since ${dateAndTime(status.asideAt)}`
        : "";
    return `  delivery ${number} to ${target.platform} ${onOneLine(target.chatId)}: ${status.state}, attempts ${status.attempts}${aside}${error}`;
  });
  // What its conversations decided stands with them; one that was left has only this.
  const left = new Set((around?.conversations ?? []).map(({ number }) => number));
  const decided = (around?.decisions ?? [])
    .filter(({ conversation }) => !left.has(conversation))
    .map(decisionLine);
  const held = (around?.holds ?? []).map(
    ({ name, until }) => `  ${onOneLine(name)} until ${dateAndTime(until)}`,
  );
  const views = versions.map(
    ({ version, kind, at, length }) => `  ${dateAndTime(at)}  version ${version}, ${kind}: shows ${length}`,
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
