import { isDeepStrictEqual } from "node:util";
import type { Message } from "../core/message.ts";
import type { Asker } from "../core/owner.ts";
import type { ViewRanges } from "../ports/message-store.ts";
import { type MessageInput, prepareMessages } from "./message-input.ts";
import type { Sessions } from "./sessions.ts";

/** Makes a session show what an agent has in its memory, at the cost of what is new. */
export interface SavePoints {
  /** One at a time per session: two at once would both add what is new. */
  save(id: string, conversation: readonly MessageInput[]): Promise<void>;
  forget(id: string): void;
}

export function savePoints(sessions: Sessions, who: Asker): SavePoints {
  const savings = new Map<string, SaveState>();

  async function save(id: string, saving: SaveState, given: readonly MessageInput[]): Promise<void> {
    const { last } = saving;
    delete saving.last;
    const newest = serializeMessage(given.at(-1));
    const before = await sessions.ranges(who, id);
    // Messages never change: while the session has the same shape, it shows what was saved.
    if (last !== undefined && isDeepStrictEqual(last.ranges, before) && isContinuation(last, given)) {
      await add(id, given.slice(last.messages.length));
    } else {
      await compareAndStore(id, given);
    }
    const shape = await sessions.ranges(who, id);
    // If somebody else wrote in between, the next save looks at all of it again.
    if (shape !== undefined && countShownMessages(shape) === given.length)
      saving.last = { ranges: shape, messages: given, newest };
  }

  async function add(id: string, messages: readonly MessageInput[]): Promise<void> {
    if (messages.length > 0) await sessions.append(who, id, messages);
  }

  async function compareAndStore(id: string, given: readonly MessageInput[]): Promise<void> {
    const shown = (await sessions.history(who, id)) ?? [];
    const parting = shown.findIndex((message, at) => !isStored(message, given[at]));
    const kept = shown[parting - 1];
    if (parting === -1) await add(id, given.slice(shown.length));
    else if (parting === given.length && kept !== undefined) await sessions.rewind(who, id, kept);
    else {
      // One commit; what both have keeps its time.
      const course = given.map((message, at) => {
        const same = at < parting ? shown[at] : undefined;
        return same === undefined ? message : { ...message, at: same.at };
      });
      await sessions.rewrite(who, id, course);
    }
  }

  return {
    save(id, given) {
      const saving: SaveState = savings.get(id) ?? { done: Promise.resolve() };
      savings.set(id, saving);
      const saved = saving.done.then(() => save(id, saving, given));
      saving.done = saved.catch(() => {}); // whoever saved meets it
      return saved;
    },
    forget: (id) => void savings.delete(id),
  };
}

/** The save under way, and what the last one left. */
interface SaveState {
  done: Promise<void>;
  last?: SavedConversation;
}

interface SavedConversation {
  /** What the session showed then. */
  readonly ranges: ViewRanges;
  readonly messages: readonly MessageInput[];
  /** The newest message's contents: an agent may go on writing into it. */
  readonly newest: string;
}

/** Whether the conversation begins with what was saved last. Nothing is read for it. */
function isContinuation(
  { messages, newest }: SavedConversation,
  conversation: readonly MessageInput[],
): boolean {
  const unchanged = messages.every((message, at) => {
    const now = conversation[at];
    return message === now || isDeepStrictEqual(message, now);
  });
  return unchanged && newest === serializeMessage(conversation[messages.length - 1]);
}

function serializeMessage(message: MessageInput | undefined): string {
  return message === undefined ? "" : JSON.stringify(prepareMessages(message).messages);
}

/** Whether a stored message is this one. Only what the caller gives is compared: time and place are the store's. */
function isStored(stored: Message, given: MessageInput | undefined): boolean {
  if (given === undefined) return false;
  const [ready] = prepareMessages(given).messages;
  if (ready === undefined) return false;
  const { session: _session, seq: _seq, at, ...rest } = stored;
  const { at: givenAt = at, ...wanted } = ready;
  return at === givenAt && isDeepStrictEqual(rest, wanted);
}

function countShownMessages({ pieces }: ViewRanges): number {
  return pieces.reduce((sum, piece) => sum + piece.to - piece.from + 1, 0);
}
