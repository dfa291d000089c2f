import { isMarkedAsRepeated } from "../../src/core/repetition.ts";
import type { ChatMessage } from "../../src/testing/fake-telegram/index.ts";

/** The messages in a chat at the end. */
export interface ChatRecord {
  readonly chat: number;
  readonly messages: readonly ChatMessage[];
}

/** The errors in Telegram's chats, one sentence each, and counts. */
export interface Verdict {
  /** A text without an answer or a notice. */
  readonly lost: readonly string[];
  /** An answer or a draft in a wrong chat, or as a reply to another person's text. */
  readonly crossed: readonly string[];
  /** A repeated answer without a mark. */
  readonly repeated: readonly string[];
  /** A repeated answer with a mark. */
  readonly repeatedWithMark: readonly string[];
  /** An answer before the answer to an earlier text of the same person. */
  readonly disordered: readonly string[];
  readonly said: number;
  readonly answered: number;
  /** Texts whose turn crashed too often: their senders got a notice. */
  readonly told: number;
}

/** The notice of the gateway that it does not retry. */
const TOLD = /so it was not tried again/;

interface Said {
  readonly place: string;
  readonly person: number;
  readonly id: number;
  readonly mark: string;
}

/**
 * Judges only by the chats. Every text contains a unique mark, `[p7-3]`: the third text of p7. The echo agent repeats it:
 * `You said: [p7-3] … (before that: [p7-2] …)`.
 */
export function verdictOn(chats: readonly ChatRecord[]): Verdict {
  const said = chats.flatMap(saidIn);
  const byMark = new Map(said.map((text) => [text.mark, text]));
  const answers = new Map<string, ChatMessage[]>();
  const crossed: string[] = [];
  const notices: Said[] = [];
  for (const { chat, messages } of chats) {
    const people = new Map(messages.map(({ id, by }) => [id, by]));
    for (const message of messages.filter(({ by }) => by === "bot")) {
      const place = placeOf(chat, message);
      const all = [message.text, ...message.edits].flatMap(marksIn).map((mark) => byMark.get(mark));
      const wrong = all.some((text) => text?.place !== place || text.person !== all[0]?.person);
      const replied = message.replyTo === undefined ? undefined : people.get(message.replyTo);
      if (wrong || (replied !== undefined && all.some((text) => text?.person !== replied)))
        crossed.push(`${place}: ${message.text}`);
      const mark = /You said: (\[\S+?\])/.exec(message.text)?.[1];
      if (mark !== undefined) answers.set(mark, [...(answers.get(mark) ?? []), message]);
      if (TOLD.test(message.text)) notices.push(...said.filter((text) => isAbout(message, place, text)));
    }
  }
  const unanswered = said.filter(({ mark }) => !answers.has(mark));
  const told = unanswered.filter((text) => notices.includes(text));
  const again = [...answers].flatMap(([mark, [, ...more]]) => more.map((message) => ({ mark, message })));
  const twice = ({ mark, message }: (typeof again)[number]): string => `${mark} again as ${message.id}`;
  return {
    lost: unanswered.filter((text) => !told.includes(text)).map(({ mark, place }) => `${mark} in ${place}`),
    crossed,
    repeated: again.filter(({ message }) => !isMarkedAsRepeated(message.text)).map(twice),
    repeatedWithMark: again.filter(({ message }) => isMarkedAsRepeated(message.text)).map(twice),
    disordered: disorderIn(said, answers),
    said: said.length,
    answered: said.length - unanswered.length,
    told: told.length,
  };
}

function saidIn({ chat, messages }: ChatRecord): readonly Said[] {
  return messages.flatMap((message) => {
    const [mark] = marksIn(message.text);
    if (typeof message.by !== "number" || mark === undefined) return [];
    return [{ place: placeOf(chat, message), person: message.by, id: message.id, mark }];
  });
}

/** In a group the notice is a reply to its text; in a direct chat it is about an earlier text. */
function isAbout(notice: ChatMessage, place: string, text: Said): boolean {
  if (text.place !== place) return false;
  return notice.replyTo === undefined ? text.id < notice.id : text.id === notice.replyTo;
}

function disorderIn(said: readonly Said[], answers: ReadonlyMap<string, readonly ChatMessage[]>): string[] {
  const found: string[] = [];
  for (const [, texts] of Map.groupBy(said, ({ place, person }) => `${place} ${person}`)) {
    let before = { id: 0, mark: "" };
    for (const { mark } of texts) {
      const id = answers.get(mark)?.[0]?.id;
      if (id === undefined) continue;
      if (id < before.id) found.push(`${mark} was answered before ${before.mark}`);
      before = { id, mark };
    }
  }
  return found;
}

function placeOf(chat: number, { topic }: ChatMessage): string {
  return topic === undefined ? String(chat) : `${chat}, topic ${topic}`;
}

function marksIn(text: string): string[] {
  return text.match(/\[p\d+-\d+\]/g) ?? [];
}
