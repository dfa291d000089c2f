import { isDeepStrictEqual } from "node:util";
import type { Message } from "../core/message.ts";
import type { Asker } from "../core/owner.ts";
import type { ViewRanges } from "../ports/message-store.ts";
import { type MessageInput, prepareMessages } from "./message-input.ts";
import type { Sessions } from "./sessions.ts";

/** Makes a session show the messages that an agent holds in memory. Writes only new messages. */
export interface SavePoints {
  /** Runs one save at a time for each session; concurrent saves would both append the new messages. */
  save(id: string, conversation: readonly MessageInput[]): Promise<void>;
  forget(id: string): void;
}

export function savePoints(sessions: Sessions, who: Asker): SavePoints {
  const states = new Map<string, SaveState>();

  async function save(id: string, state: SaveState, messages: readonly MessageInput[]): Promise<void> {
    const { last } = state;
    delete state.last;
    const newest = serializeMessage(messages.at(-1));
    const before = await sessions.ranges(who, id);
    // Messages are immutable: with the same ranges, the session shows what was saved.
    if (last !== undefined && isDeepStrictEqual(last.ranges, before) && isContinuation(last, messages)) {
      await add(id, messages.slice(last.messages.length));
    } else {
      await compareAndStore(id, messages);
    }
    const ranges = await sessions.ranges(who, id);
    // After a concurrent write, the next save compares all messages again.
    if (ranges !== undefined && countShownMessages(ranges) === messages.length)
      state.last = { ranges, messages, newest };
  }

  async function add(id: string, messages: readonly MessageInput[]): Promise<void> {
    if (messages.length > 0) await sessions.append(who, id, messages);
  }

  async function compareAndStore(id: string, messages: readonly MessageInput[]): Promise<void> {
    const shown = (await sessions.history(who, id)) ?? [];
    const firstDifference = shown.findIndex((message, at) => !isStored(message, messages[at]));
    const kept = shown[firstDifference - 1];
    if (firstDifference === -1) await add(id, messages.slice(shown.length));
    else if (firstDifference === messages.length && kept !== undefined) await sessions.rewind(who, id, kept);
    else {
      // Messages before the first difference keep their time.
      const rewritten = messages.map((message, at) => {
        const same = at < firstDifference ? shown[at] : undefined;
        return same === undefined ? message : { ...message, at: same.at };
      });
      await sessions.rewrite(who, id, rewritten);
    }
  }

  return {
    save(id, messages) {
      const state: SaveState = states.get(id) ?? { done: Promise.resolve() };
      states.set(id, state);
      const saved = state.done.then(() => save(id, state, messages));
      state.done = saved.catch(() => {}); // the caller gets the error from `saved`
      return saved;
    },
    forget: (id) => void states.delete(id),
  };
}

/** The save in progress, and the result of the last one. */
interface SaveState {
  done: Promise<void>;
  last?: SavedConversation;
}

interface SavedConversation {
  /** The view of the session after the save. */
  readonly ranges: ViewRanges;
  readonly messages: readonly MessageInput[];
  /** The content of the newest message, because an agent may still change that object. */
  readonly newest: string;
}

/** Whether the conversation starts with the saved messages. Reads nothing from the store. */
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

/** Whether the stored message equals the input. Ignores session and seq, and the time if the input has none. */
function isStored(stored: Message, input: MessageInput | undefined): boolean {
  if (input === undefined) return false;
  const [prepared] = prepareMessages(input).messages;
  if (prepared === undefined) return false;
  const { session: _session, seq: _seq, at, ...rest } = stored;
  const { at: inputAt = at, ...expected } = prepared;
  return at === inputAt && isDeepStrictEqual(rest, expected);
}

function countShownMessages({ pieces }: ViewRanges): number {
  return pieces.reduce((sum, piece) => sum + piece.to - piece.from + 1, 0);
}
