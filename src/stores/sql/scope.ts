import type { Enqueue } from "../../core/delivery.ts";
import type { Source } from "../../core/source.ts";
import type { PlatformCursor } from "../../core/turn.ts";

/**
 * A part of the database that a write touches. An engine with several writers locks the scopes of a write before it
 * starts: the database, then chats, then sessions in ascending order, then the rest. A scope includes:
 * - `database`: everything, exclusively. For rare operations.
 * - `chat`: the inbox rows of a chat; of its conversations those that are shared or of the sender, in the chat itself and in
 *   the thread; their current sessions; and the account of the sender.
 * - `conversation`: one conversation with its inbox rows, and its current session.
 * - `session`: a session with everything that belongs to it, and the conversations that point to it.
 * - `turn`, `approval`, `process`, `flush`: the session of this row, the conversation that it names, and the memory that
 *   a flush changes.
 * - `delivery`, `inbox`: this row.
 * - `named`: the row of this table with this name or owner.
 * - `new`: only rows that the write creates.
 *
 * Blobs belong to no scope: they are stored by hash, and foreign keys keep those that are in use.
 */
export type Scope =
  | { readonly kind: "database" }
  | {
      readonly kind: "chat";
      readonly profile: string;
      readonly source: Pick<Source, "platform" | "chatId" | "threadId" | "userId" | "userIdAlt">;
    }
  | {
      readonly kind: "conversation" | "turn" | "approval" | "flush" | "delivery" | "inbox";
      readonly number: number;
    }
  | { readonly kind: "session" | "process"; readonly id: string }
  | { readonly kind: "named"; readonly table: NamedTable; readonly name: string }
  | { readonly kind: "new" };

export type NamedTable = "cursors" | "guesses" | "homes" | "leases" | "memories" | "people" | "runners";

type RowKind = Extract<Scope, { readonly number: number }>["kind"];

/** Functions from the input of a write to its scopes. */

export function scopeToDatabase(): readonly Scope[] {
  return [{ kind: "database" }];
}

export function scopeToNewRows(): readonly Scope[] {
  return [{ kind: "new" }];
}

interface InboundRequest extends Omit<Extract<Scope, { kind: "chat" }>, "kind"> {
  /** The position in the platform's stream that the request moves. */
  readonly cursor?: PlatformCursor;
}

export function scopeToChat({ profile, source, cursor }: InboundRequest): readonly Scope[] {
  return listPresent({ kind: "chat", profile, source }, cursor && nameScope("cursors", cursor.name));
}

export function scopeToChats({
  messages,
}: {
  readonly messages: readonly InboundRequest[];
}): readonly Scope[] {
  return messages.flatMap(scopeToChat);
}

export function scopeToCursor({ cursor }: { readonly cursor: PlatformCursor }): readonly Scope[] {
  return [nameScope("cursors", cursor.name)];
}

export function scopeToConversation(input: { readonly conversation: number }): readonly Scope[] {
  return [{ kind: "conversation", number: input.conversation }];
}

export function scopeToSession({ session }: { readonly session: string }): readonly Scope[] {
  return [{ kind: "session", id: session }];
}

export function scopeToSwitch(input: {
  readonly conversation: number;
  readonly session: string;
}): readonly Scope[] {
  return [...scopeToConversation(input), ...scopeToSession(input)];
}

export function scopeToAttachment(input: InboundRequest & { readonly session: string }): readonly Scope[] {
  return [...scopeToChat(input), ...scopeToSession(input)];
}

export function scopeToTurn({ turn }: { readonly turn: number }): readonly Scope[] {
  return [{ kind: "turn", number: turn }];
}

export function scopeToDelivery({ delivery }: { readonly delivery: number }): readonly Scope[] {
  return [{ kind: "delivery", number: delivery }];
}

export function scopeToProcess({ id }: { readonly id: string }): readonly Scope[] {
  return [{ kind: "process", id }];
}

export function scopeToReport({ process }: { readonly process: string }): readonly Scope[] {
  return scopeToProcess({ id: process });
}

export function scopeToFlush({ flush }: { readonly flush: number }): readonly Scope[] {
  return [{ kind: "flush", number: flush }];
}

export function scopeToApproval(input: {
  readonly approval: number;
  readonly person?: string;
}): readonly Scope[] {
  const { approval, person } = input;
  return listPresent(
    { kind: "approval", number: approval },
    person === undefined ? undefined : nameScope("people", person),
  );
}

/** What is enqueued may answer or report several things, which the same commit marks as done. */
export function scopeToAnswered(input: Omit<Enqueue, "deliveries" | "runner" | "now">): readonly Scope[] {
  const { session, processReport } = input;
  return listPresent(
    { kind: "new" },
    session === undefined ? undefined : { kind: "session", id: session },
    findRowScope("inbox", input.answeredCommand),
    findRowScope("conversation", input.resetNoticeFor),
    findRowScope("approval", input.approval),
    processReport && { kind: "process", id: processReport.process },
  );
}

/** For writes of one row whose name or owner is a field of the input. */
export function scopeToName<Field extends string>(table: NamedTable, field: Field) {
  return (input: Readonly<Record<Field, string>>): readonly Scope[] => [nameScope(table, input[field])];
}

export function scopeToRunner({ runner }: { readonly runner: { readonly id: string } }): readonly Scope[] {
  return [nameScope("runners", runner.id)];
}

export function scopeToHome({ home }: { readonly home: { readonly platform: string } }): readonly Scope[] {
  return [nameScope("homes", home.platform)];
}

function nameScope(table: NamedTable, name: string): Scope {
  return { kind: "named", table, name };
}

function findRowScope(kind: RowKind, number: number | undefined): Scope | undefined {
  return number === undefined ? undefined : { kind, number };
}

function listPresent(...scopes: readonly (Scope | undefined)[]): readonly Scope[] {
  return scopes.filter((scope) => scope !== undefined);
}
