import { type ShownMessage, shownIn } from "./drive.ts";
import type { ChatPlace, Witnessed } from "./protocol.ts";
import { givenTo } from "./stage.ts";
import { marksIn } from "./telling-agent.ts";

/** The owners of accounts, and the shared chats. */
export interface World {
  /** The human behind an account. */
  humanOf(account: string): string;
  isShared(place: Pick<ChatPlace, "type" | "thread">): boolean;
}

export interface PrivacyVerdict {
  /** A text was shown in a chat in which it must not be visible. */
  readonly crossed: readonly string[];
  /** An agent read texts that do not belong together. */
  readonly mixed: readonly string[];
  /** A text that was neither answered, nor cancelled with a quote, nor stopped. */
  readonly lost: readonly string[];
  /** A text that was answered twice, or in both its old and its new form. */
  readonly repeated: readonly string[];
  readonly texts: number;
  /** Texts that were edited or deleted while pending, and answered accordingly. */
  readonly changed: number;
  readonly vanished: number;
  /** Texts whose answer was stopped by their sender. */
  readonly stopped: number;
  /** The number of requests to agents. */
  readonly asked: number;
}

type Said = Extract<Witnessed, { kind: "said" }>;

/** Judges by the messages in the chats and by the input of the agents. Every text contains a unique mark. */
export function privacyVerdictOn(witnessed: readonly Witnessed[], world: World): PrivacyVerdict {
  const said = witnessed.filter((event): event is Said => event.kind === "said");
  const byId = new Map(said.map((text) => [`${text.chat}/${text.messageId}`, text]));
  const placeOf = new Map<string, Said>();
  /** The old mark and the new one, if any, of an edited text. */
  const changes = new Map<string, string | undefined>();
  for (const text of said) for (const mark of marksIn(text.text)) placeOf.set(mark, text);
  for (const event of witnessed) {
    if (event.kind !== "changed") continue;
    const text = byId.get(`${event.chat}/${event.messageId}`);
    const [old = ""] = marksIn(text?.text ?? "");
    const [mark] = marksIn(event.text ?? "");
    if (text !== undefined && mark !== undefined) placeOf.set(mark, text);
    changes.set(old, mark);
  }

  const crossed: string[] = [];
  const answers = new Map<string, ShownMessage[]>();
  const cancelled = new Set<string>();
  const shown = shownIn(witnessed);
  for (const message of shown) {
    for (const mark of new Set(marksIn(everythingIn(message)))) {
      const from = placeOf.get(mark);
      if (from === undefined || !mayStandIn(message.chat, from, world))
        crossed.push(`${mark} stands in ${message.chat}: ${message.text.slice(0, 80)}`);
    }
    if (ANSWER.test(message.text)) {
      const marks = marksIn(message.text);
      for (const mark of marks) answers.set(mark, [...(answers.get(mark) ?? []), message]);
      // It goes to the chat of the last text; it may also contain texts that were stopped in another chat of the session.
      const from = placeOf.get(marks.at(-1) ?? "");
      if (from?.chat !== message.chat || from.thread !== message.thread)
        crossed.push(`the answer to ${marks.join(" ")} went to ${where(message)}`);
    } else if (/will not be:/.test(message.text))
      for (const mark of marksIn(message.text)) cancelled.add(mark);
  }

  const isAnswered = (mark: string | undefined): boolean => mark !== undefined && answers.has(mark);
  const plain = said.filter(({ text }) => !text.startsWith("/")).flatMap(({ text }) => marksIn(text));
  const unanswered: string[] = [];
  const repeated = [...answers].flatMap(([mark, all]) => (all.length > 1 ? [`${mark}: ${all.length}`] : []));
  for (const mark of plain) {
    const isChanged = changes.has(mark);
    const later = changes.get(mark);
    if (isAnswered(mark) && isAnswered(later)) repeated.push(`${mark} and ${later}`);
    if (isAnswered(mark) || isAnswered(later) || cancelled.has(mark)) continue;
    if (isChanged && (later === undefined || cancelled.has(later))) continue;
    unanswered.push(mark);
  }
  /** A command that leaves a session reports the answer that it stopped. */
  const stops = shown.filter(({ text }) => STOPPED.test(text)).map(where);
  const lost = unanswered.filter((mark) => {
    const at = stops.indexOf(where(placeOf.get(mark)));
    if (at >= 0) stops.splice(at, 1);
    return at === -1;
  });

  const given = givenTo(witnessed);
  const changed = plain.filter((mark) => changes.has(mark));
  return {
    crossed,
    mixed: given.flatMap(({ session, history, prompt, note }) =>
      mixedIn(session, [...history, prompt, note].join("\n"), prompt, placeOf, world),
    ),
    lost,
    repeated,
    texts: plain.length,
    changed: changed.filter((mark) => isAnswered(changes.get(mark))).length,
    vanished: changed.filter((mark) => changes.get(mark) === undefined && !isAnswered(mark)).length,
    asked: given.length,
    stopped: unanswered.length - lost.length,
  };
}

const ANSWER = /^answer to /;
/** The message of a command that stopped an answer. */
export const STOPPED: RegExp = /answer that was being written has been stopped/;

function where(at: Pick<ShownMessage, "chat" | "thread"> | undefined): string {
  return `${at?.chat} ${at?.thread ?? ""}`;
}

/** All its texts, its buttons, and the content of its files. */
export function everythingIn({ texts, buttons = [], files = [] }: ShownMessage): string {
  const labels = buttons.flat().flatMap(({ label, line }) => [label, line]);
  const documents = files.flatMap(({ name, base64 }) => [name, Buffer.from(base64, "base64").toString()]);
  return [...texts, ...labels, ...documents].join("\n");
}

/** The chat of the text; and, unless it is shared, the direct chats of its sender. */
function mayStandIn(chat: string, from: Said, { humanOf, isShared }: World): boolean {
  if (chat === from.chat) return true;
  return chat.startsWith("dm-") && humanOf(chat.slice(3)) === humanOf(from.person) && !isShared(from);
}

/** A session belongs to one person, or to a group that shares it. */
function mixedIn(
  session: string,
  words: string,
  prompt: string,
  placeOf: ReadonlyMap<string, Said>,
  { humanOf, isShared }: World,
): string[] {
  const from = [...new Set(marksIn(words))].flatMap((mark) => placeOf.get(mark) ?? []);
  const humans = new Set(from.map(({ person }) => humanOf(person)));
  const chats = new Set(from.map(({ chat }) => chat));
  if (from.some(isShared))
    return chats.size > 1 ? [`${session} is of a group and has read ${[...chats].join(" and ")}`] : [];
  if (humans.size > 1) return [`${session} has read ${[...humans].join(" and ")}`];
  const people = new Set([...placeOf.values()].map(({ person }) => person));
  return [...people]
    .filter((person) => !humans.has(humanOf(person)) && new RegExp(`\\b${person}\\b`).test(prompt))
    .map((person) => `the prompt of ${[...humans].join("")}'s ${session} names ${person}`);
}
