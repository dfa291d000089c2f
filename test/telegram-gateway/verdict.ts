import { isMarkedAsRepeated } from "../../src/core/repetition.ts";
import type { ChatMessage } from "../../src/testing/fake-telegram/index.ts";

/** What stood in a chat when all was over. */
export interface ChatRecord {
  readonly chat: number;
  readonly messages: readonly ChatMessage[];
}

/** What Telegram's chats show that has gone wrong, a sentence each; and what they count. */
export interface Verdict {
  /** Somebody has said something and was neither answered nor told why not. */
  readonly lost: readonly string[];
  /** An answer, or a draft of one, stands where it was not asked for, or refers to somebody else's words. */
  readonly crossed: readonly string[];
  /** An answer stands in a chat twice, and nothing says so. */
  readonly repeated: readonly string[];
  /** An answer stands in a chat twice, and the second says so. */
  readonly repeatedWithMark: readonly string[];
  /** An answer came before one to something that the same person had said earlier. */
  readonly disordered: readonly string[];
  readonly said: number;
  readonly answered: number;
  /** Texts whose turn fell too often: their people were told, and asked. */
  readonly told: number;
}

/** How the gateway says that it has not tried again. */
const TOLD = /so it was not tried again/;

interface Said {
  readonly place: string;
  readonly person: number;
  readonly id: number;
  readonly mark: string;
}

/**
 * Judges by the chats alone. Every text holds a mark of its own, `[p7-3]`: the third text of p7. The echo repeats it:
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

/** In a group it says which text it is about; alone with the bot it is about one that was said before. */
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
