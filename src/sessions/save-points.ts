import { isDeepStrictEqual } from "node:util";
import type { Message } from "../core/message.ts";
import type { Asker } from "../core/owner.ts";
import type { ViewRanges } from "../ports/message-store.ts";
import { type MessageInput, prepareMessages } from "./message-input.ts";
import type { Sessions } from "./sessions.ts";

/** Makes a session show the conversation that an agent has in memory, and writes only new messages. */
export interface SavePoints {
  /** Runs one save at a time per session: two at once would both add the new messages. */
  save(id: string, conversation: readonly MessageInput[]): Promise<void>;
  forget(id: string): void;
}

export function savePoints(sessions: Sessions, who: Asker): SavePoints {
  const savings = new Map<string, SaveState>();

  async function save(id: string, saving: SaveState, conversation: readonly MessageInput[]): Promise<void> {
    const { last } = saving;
    delete saving.last;
    const newest = serializeMessage(conversation.at(-1));
    const before = await sessions.ranges(who, id);
    // Messages never change: a session with the same ranges shows the saved messages.
    if (last !== undefined && isDeepStrictEqual(last.ranges, before) && isContinuation(last, conversation)) {
      await add(id, conversation.slice(last.messages.length));
    } else {
      await compareAndStore(id, conversation);
    }
    const after = await sessions.ranges(who, id);
    // If another process wrote in between, the next save compares all messages.
    if (after !== undefined && countShownMessages(after) === conversation.length)
      saving.last = { ranges: after, messages: conversation, newest };
  }

  async function add(id: string, messages: readonly MessageInput[]): Promise<void> {
    if (messages.length > 0) await sessions.append(who, id, messages);
  }

  async function compareAndStore(id: string, conversation: readonly MessageInput[]): Promise<void> {
    const shown = (await sessions.history(who, id)) ?? [];
    const firstDifference = shown.findIndex((message, at) => !isStored(message, conversation[at]));
    const kept = shown[firstDifference - 1];
    if (firstDifference === -1) await add(id, conversation.slice(shown.length));
    else if (firstDifference === conversation.length && kept !== undefined)
      await sessions.rewind(who, id, kept);
    else {
      // One commit; unchanged messages keep their time.
      const course = conversation.map((message, at) => {
        const same = at < firstDifference ? shown[at] : undefined;
        return same === undefined ? message : { ...message, at: same.at };
      });
      await sessions.rewrite(who, id, course);
    }
  }

  return {
    save(id, conversation) {
      const saving: SaveState = savings.get(id) ?? { done: Promise.resolve() };
      savings.set(id, saving);
      const saved = saving.done.then(() => save(id, saving, conversation));
      saving.done = saved.catch(() => {}); // the caller of save gets the error
      return saved;
    },
    forget: (id) => void savings.delete(id),
  };
}

/** The save in progress, and the result of the last one. */
interface SaveState {
  done: Promise<void>;
  last?: SavedConversation;
}

interface SavedConversation {
  /** The ranges that the session showed after the save. */
  readonly ranges: ViewRanges;
  readonly messages: readonly MessageInput[];
  /** The content of the newest message, which the agent may still change. */
  readonly newest: string;
}

/** Whether the conversation starts with the last saved messages. Reads nothing from the store. */
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

/** Whether a stored message equals the input. Session, seq and default time come from the store and are ignored. */
function isStored(stored: Message, input: MessageInput | undefined): boolean {
  if (input === undefined) return false;
  const [ready] = prepareMessages(input).messages;
  if (ready === undefined) return false;
  const { session: _session, seq: _seq, at, ...rest } = stored;
  const { at: inputAt = at, ...expected } = ready;
  return at === inputAt && isDeepStrictEqual(rest, expected);
}

function countShownMessages({ pieces }: ViewRanges): number {
  return pieces.reduce((sum, piece) => sum + piece.to - piece.from + 1, 0);
}
