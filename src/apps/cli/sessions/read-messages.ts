import { PostriderError } from "../../../core/errors.ts";
import type { Message } from "../../../core/message.ts";
import type { Asker } from "../../../core/owner.ts";
import type { Session } from "../../../core/session.ts";
import type { Store } from "../../../ports/store.ts";

export interface MessageEntry {
  readonly message: Message;
  /** Whether people and the model still see the message in the session. */
  readonly shown: boolean;
}

/** Reads the messages that a session shows, in order; with `all`, also undone and summarized ones. */
export async function readMessages(
  store: Store,
  who: Asker,
  session: Session,
  all: boolean,
): Promise<readonly MessageEntry[]> {
  const ask = { asker: who, session: session.id };
  const shown = (await store.messages.readHistory(ask)) ?? [];
  if (!all) return shown.map((message) => ({ message, shown: true }));
  const own = new Set(shown.filter((message) => message.session === session.id).map(({ seq }) => seq));
  const borrowed = shown.filter((message) => message.session !== session.id);
  const said = (await store.messages.listMessages(ask)) ?? [];
  return [
    ...borrowed.map((message) => ({ message, shown: true })),
    ...said.map((message) => ({ message, shown: own.has(message.seq) })),
  ];
}

/** The offset of the message with this number. A fork's own message wins over one of its origin. */
export function findMessageIndex(
  messages: readonly MessageEntry[],
  session: Session,
  seq: number,
): number | undefined {
  const own = messages.findIndex(({ message }) => message.seq === seq && message.session === session.id);
  const any = own === -1 ? messages.findLastIndex(({ message }) => message.seq === seq) : own;
  return any === -1 ? undefined : any;
}

export function messageNotFound(session: Session, seq: number): PostriderError {
  return new PostriderError(
    "not_found",
    `Session ${session.handle} has no message ${seq}; it has ${session.messageCount} messages.`,
    { details: { session: session.id, seq } },
  );
}
