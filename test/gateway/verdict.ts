import { isMarkedAsRepeated } from "../../src/core/repetition.ts";
import { type ShownMessage, shownIn } from "./drive.ts";
import type { Witnessed } from "./protocol.ts";

/** The errors that the judge found, one sentence each, and its counts. */
export interface Verdict {
  /** A text without an answer or a notice. */
  readonly lost: readonly string[];
  /** A text for one person that another person could read. */
  readonly crossed: readonly string[];
  /** A repeated answer without a mark. */
  readonly repeated: readonly string[];
  /** A repeated answer with a mark. */
  readonly repeatedWithMark: readonly string[];
  /** The maximum number of these in one chat, without those after a cut connection. */
  readonly mostRepeatedInOnePlace: number;
  /** A repeated outside effect. */
  readonly doneTwice: readonly string[];
  /** The number of texts. */
  readonly said: number;
  readonly answered: number;
  /** Texts whose turn crashed too often, or during an errand: their senders got a notice. */
  readonly told: readonly string[];
  /** Two processes were connected as the same bot at the same time. */
  readonly conflicts: number;
  readonly errands: number;
}

/** The notice of the gateway that it does not retry. */
export const TOLD: RegExp = /so it was not tried again|So nothing was done again|could not be delivered here/;

/** Also the notice that an answer took too long, if no part of the answer was shown. */
export const NOTICED: RegExp = new RegExp(`${TOLD.source}|^⚠ The answer took longer than`);

/** The maximum delay of an update by the messenger. */
const LATEST_MS = 200;

type Said = Extract<Witnessed, { kind: "said" }>;

/**
 * Judges only by the messages in the chats. Every text contains a unique mark, `[p7-3]`: the third text of p7. Answers
 * repeat the marks of their texts. Answers come in the order of the texts.
 */
export function verdictOn(witnessed: readonly Witnessed[]): Verdict {
  const said = witnessed.filter((event): event is Said => event.kind === "said");
  const byMark = new Map(said.flatMap((text) => marksIn(text.text).map((mark) => [mark, text] as const)));
  const shown = shownIn(witnessed);
  const findings = { lost: [], crossed: [], repeated: [], repeatedWithMark: [] } as Record<string, string[]>;
  const answers = new Map<string, ShownMessage[]>();

  for (const message of shown) {
    const marks = new Set(message.texts.flatMap(marksIn));
    const people = new Set<string>();
    for (const mark of marks) {
      const text = byMark.get(mark);
      people.add(text?.person ?? "nobody");
      if (text === undefined || text.chat !== message.chat || text.thread !== message.thread)
        findings.crossed?.push(`${mark} stands in ${where(message)}: ${message.text.slice(0, 80)}`);
    }
    if (people.size > 1) findings.crossed?.push(`one message answers ${[...people].join(" and ")}`);
    for (const mark of new Set(marksIn(message.text)))
      answers.set(mark, [...(answers.get(mark) ?? []), message]);
  }

  /** The time of the first answer to a certainly later text of this person: a later notice is about another text. */
  function firstAnswerAfter({ person, at }: Said): number {
    const later = said.filter((text) => text.person === person && text.at > at + LATEST_MS);
    const seqs = later
      .flatMap(({ text }) => marksIn(text))
      .flatMap((mark) => answers.get(mark)?.[0]?.seq ?? []);
    return Math.min(Number.POSITIVE_INFINITY, ...seqs);
  }

  const told: string[] = [];
  const notices = Map.groupBy(
    shown.filter(({ text }) => NOTICED.test(text)),
    (notice) => personOf(notice, said),
  );
  for (const [mark, text] of byMark) {
    if (answers.has(mark)) continue;
    const own = notices.get(text.person) ?? [];
    if (own.some((notice) => notice.seq > text.seq && notice.seq < firstAnswerAfter(text))) told.push(mark);
    else findings.lost?.push(`${mark} of ${text.person} was never answered`);
  }
  for (const [mark, [first, ...more]] of answers)
    for (const again of more) {
      const kind = isMarkedAsRepeated(again.text) ? "repeatedWithMark" : "repeated";
      const line = `the answer to ${mark} stands in ${where(again)} as ${first?.messageId} and ${again.messageId}`;
      findings[kind]?.push(line);
    }

  const again = [...answers.values()].flatMap(([, ...more]) =>
    more.filter(({ text }) => isMarkedAsRepeated(text)),
  );
  const cutsIn = (chat: string): number =>
    witnessed.filter((event) => event.kind === "fault" && event.fault === "cut" && event.chat === chat)
      .length;
  const inPlaces = [...Map.groupBy(again, where).values()].map(
    (all) => all.length - cutsIn(all[0]?.chat ?? ""),
  );
  const errands = witnessed.flatMap((event) => (event.kind === "effect" ? [event.name] : []));
  const counts = Map.groupBy(errands, (name) => name);
  return {
    lost: findings.lost ?? [],
    crossed: findings.crossed ?? [],
    repeated: findings.repeated ?? [],
    repeatedWithMark: findings.repeatedWithMark ?? [],
    mostRepeatedInOnePlace: Math.max(0, ...inPlaces),
    doneTwice: [...counts].flatMap(([name, all]) =>
      all.length > 1 ? [`${name} ran ${all.length} times`] : [],
    ),
    said: byMark.size,
    answered: [...byMark.keys()].filter((mark) => answers.has(mark)).length,
    told,
    conflicts: witnessed.filter(({ kind }) => kind === "conflict").length,
    errands: errands.length,
  };
}

/** The text of a notice: in a group it is a reply to its text. */
function personOf({ chat, replyTo }: ShownMessage, said: readonly Said[]): string | undefined {
  const there = said.filter((text) => text.chat === chat);
  const answered = replyTo === undefined ? undefined : there.find(({ messageId }) => messageId === replyTo);
  return (answered ?? there.find(({ type }) => type === "dm"))?.person;
}

export function marksIn(text: string): string[] {
  return text.match(/\[[^\]\s]+\]/g) ?? [];
}

function where({ chat, thread }: Pick<ShownMessage, "chat" | "thread">): string {
  return thread === undefined ? chat : `${chat}, thread ${thread}`;
}
