import type { NewMessage } from "../../core/message.ts";
import type { Db } from "./db.ts";
import { SEQS_PER_SESSION, toMessageId } from "./rows.ts";
import { deleteBlobUseSql, deleteUnusedBlobSql, sessionsUsingBlobSql } from "./statements/blobs.ts";
import { deliveryUsingBlobSql } from "./statements/deliveries.ts";
import { pendingUsingBlobSql } from "./statements/inbox.ts";
import { messageUsingBlobSql } from "./statements/messages.ts";
import { shownSessionsSql } from "./statements/views.ts";

/** In blob_uses.session: a delivery without a session needs the blob. */
export const NO_SESSION = 0;

/** The hashes of the blobs in a message. */
export function getBlobHashes({ parts }: Pick<NewMessage, "parts">): string[] {
  return parts.flatMap((part) => ("blob" in part && part.blob !== undefined ? [part.blob] : []));
}

/** Blobs stay while a stored, shown or pending message or a pending delivery refers to them. */
export function releaseBlob(db: Db, hash: string): void {
  for (const { session } of db.all<{ session: number }>(sessionsUsingBlobSql, hash))
    if (!isBlobNeeded(db, session, hash)) db.send(deleteBlobUseSql, hash, session);
  db.send(deleteUnusedBlobSql, hash);
}

function isBlobNeeded(db: Db, session: number, hash: string): boolean {
  const shown = db.rows(shownSessionsSql, session);
  const named = [session, ...shown.map(([n]) => n as number)].some(
    (n) =>
      db.get(messageUsingBlobSql, toMessageId(n, 1), toMessageId(n, SEQS_PER_SESSION - 1), hash) !==
      undefined,
  );
  return (
    named ||
    db.get(deliveryUsingBlobSql, hash, hash) !== undefined ||
    db.get(pendingUsingBlobSql, session, hash) !== undefined
  );
}
