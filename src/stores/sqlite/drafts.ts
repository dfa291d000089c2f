import type { Delivery, NewDelivery } from "../../core/delivery.ts";
import { type Refused, refuse } from "../../core/refusal.ts";
import type { BeginDraft, DraftOutcome, Turn } from "../../core/turn.ts";
import { recordBlobUses } from "./append.ts";
import { NO_SESSION } from "./blobs.ts";
import type { Db } from "./connection.ts";
import { type DeliveryOwner, loadDelivery, toContentColumns, toShown, toShownColumn } from "./deliveries.ts";
import * as sql from "./sql.ts";

export function beginDraft(db: Db, input: BeginDraft): Delivery | Refused {
  const { target, replyTo, now } = input;
  const turn = db.get<{ session: number; runner: string; state: string; fence: number }>(
    sql.turnByNumberSql,
    input.turn,
  );
  if (turn === undefined || turn.state !== "running" || turn.fence !== input.fence) {
    return refuse("stale_fence", "This turn was finished or taken over by another runner.");
  }
  const there = db.get<{ n: number }>(sql.draftByTurnSql, input.turn);
  if (there !== undefined) return requireDelivery(db, there.n);
  const { lastInsertRowid } = db.run(
    sql.insertDeliverySql,
    target.platform,
    turn.session,
    input.turn,
    JSON.stringify(target),
    ...toContentColumns({ parts: [], ...(replyTo !== undefined && { replyTo }) }),
    "draft",
    0,
    now,
    turn.runner,
    // Whoever falls before the note of how it went leaves it open whether anybody saw it.
    toShownColumn("unknown"),
    now,
  );
  return requireDelivery(db, lastInsertRowid);
}

function requireDelivery(db: Db, n: number): Delivery {
  const delivery = loadDelivery(db, n);
  if (delivery === undefined) throw new Error(`delivery ${n} is gone in the step that wrote it`);
  return delivery;
}

export function recordDraftOutcome(db: Db, { delivery, shown }: DraftOutcome): void {
  if (shown === "nothing") db.run(sql.deleteDraftSql, delivery);
  else db.run(sql.setDraftShownSql, toShownColumn(shown), delivery);
}

/** The draft that an earlier attempt at a turn has left. */
export function findDraft(db: Db, turn: number): Turn["draftDelivery"] {
  const row = db.get<{ n: number; shown: string | null }>(sql.draftByTurnSql, turn);
  return row && { delivery: row.n, shown: toShown(row.shown) };
}

/** The draft becomes the delivery that it announced, under its own number. */
export function completeDraft(
  db: Db,
  n: number,
  delivery: NewDelivery,
  by: DeliveryOwner,
  now: number,
): Delivery {
  const begun = delivery.sendNow ?? false;
  recordBlobUses(db, by.session?.n ?? NO_SESSION, delivery);
  db.run(
    sql.completeDraftSql,
    delivery.target.platform,
    JSON.stringify(delivery.target),
    ...toContentColumns(delivery),
    begun ? "sending" : "waiting",
    begun ? 1 : 0,
    now,
    begun ? by.runner : null,
    n,
  );
  return requireDelivery(db, n);
}

/** The turn ended and has nothing to say in it. Nothing follows; if it was shown, it stays as it stands there. */
export function abandonDraft(db: Db, n: number, now: number): void {
  db.run(sql.abandonDraftSql, "Its turn ended without it.", now, n);
}
