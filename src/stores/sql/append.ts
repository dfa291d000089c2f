import { PostriderError } from "../../core/errors.ts";
import { countToolCalls, isHuman, type NewMessage } from "../../core/message.ts";
import { type Refused, refuse } from "../../core/refusal.ts";
import type { Blob } from "../../core/turn.ts";
import type { Append } from "../../ports/message-store.ts";
import type { Db } from "./db.ts";
import { SEQS_PER_SESSION, type SessionRow, toMessageColumns, toMessageId } from "./rows.ts";
import { blobSizeSql, insertBlobSql, insertBlobUseSql } from "./statements/blobs.ts";
import { touchSessionConversationsSql } from "./statements/conversations.ts";
import { insertMessageSql } from "./statements/messages.ts";
import { growSessionSql } from "./statements/sessions.ts";
import { clearTurnDraftSql } from "./statements/turns.ts";
import { addSessionUsage } from "./usage.ts";
import { findVisibleSession } from "./visibility.ts";

export function append(db: Db, input: Append): { seqs: number[] } | Refused {
  const session = findVisibleSession(db, input.asker, input.session);
  if (session === undefined) return refuse("not_found", "There is no such session.");
  const stale = checkFence(session, input.fence);
  if (stale !== undefined) return stale;
  const grown = insertMessages(db, session, input.messages, input.blobs, input.now);
  db.send(growSessionSql, grown.seqs.length, grown.lastAt, grown.humans, grown.toolCalls, session.n);
  if (input.usage !== undefined)
    addSessionUsage(db, session, { purpose: "answer", usage: input.usage, now: input.now });
  // The message now contains the draft that the lease holder saved before the message was complete.
  if (input.fence !== undefined && grown.seqs.length > 0) db.send(clearTurnDraftSql, session.n);
  // Only messages of people count as activity of the conversations, not those of agents or processes.
  if (grown.humans > 0) db.send(touchSessionConversationsSql, input.now, session.n);
  return { seqs: grown.seqs };
}

export function checkFence(session: SessionRow, fence: number | undefined): Refused | undefined {
  if (fence === undefined || (session.fence === fence && session.lease_holder !== null)) return undefined;
  return refuse("stale_fence", "Another runner has taken over this session, so this write was refused.");
}

/** The growth of the session's row; each caller writes it in a statement that it runs anyway. */
export interface SessionGrowth {
  readonly seqs: number[];
  readonly lastAt: number;
  readonly humans: number;
  readonly toolCalls: number;
}

/** Inserts the rows at the end of the session. The caller updates the session's row in the same step. */
export function insertMessages(
  db: Db,
  session: Pick<SessionRow, "n" | "next_seq">,
  messages: readonly NewMessage[],
  blobs: readonly Blob[] | undefined,
  now: number,
): SessionGrowth {
  if (session.next_seq + messages.length > SEQS_PER_SESSION) {
    throw new PostriderError(
      "too_large",
      `A session holds at most ${SEQS_PER_SESSION - 1} messages. Start a new one.`,
    );
  }
  const seqs: number[] = [];
  let lastAt = 0;
  let humans = 0;
  let toolCalls = 0;
  for (const blob of blobs ?? []) db.send(insertBlobSql, blob.hash, blob.bytes.byteLength, blob.bytes);
  for (const message of messages) {
    const seq = session.next_seq + seqs.length;
    const at = message.at ?? now;
    const [role, text, parts, meta] = toMessageColumns(message);
    db.send(insertMessageSql, toMessageId(session.n, seq), at, role, text, parts, meta);
    if (parts !== null) recordBlobUses(db, session.n, message);
    seqs.push(seq);
    lastAt = Math.max(lastAt, at);
    if (isHuman(message)) humans += 1;
    toolCalls += countToolCalls(message);
  }
  return { seqs, lastAt, humans, toolCalls };
}

/** Records the blobs that this session needs. A missing blob fails the step: a part never refers to nothing. */
export function recordBlobUses(db: Db, session: number, message: Pick<NewMessage, "parts">): void {
  for (const part of message.parts) {
    if (!("blob" in part) || part.blob === undefined) continue;
    if (db.get(blobSizeSql, part.blob) === undefined) {
      throw new PostriderError("invalid_input", "A part refers to a blob that does not exist.", {
        details: { field: "blob", hash: part.blob },
      });
    }
    db.send(insertBlobUseSql, part.blob, session);
  }
}
