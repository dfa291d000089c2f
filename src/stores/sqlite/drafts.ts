import type { Delivery, NewDelivery } from "../../core/delivery.ts";
import { type Refused, refuse } from "../../core/refusal.ts";
import type { BeginDraft, NoteDraft, Turn } from "../../core/turn.ts";
import { useBlobs } from "./append.ts";
import { NO_SESSION } from "./blobs.ts";
import type { Db } from "./connection.ts";
import { contentColumns, deliveryOf, type Maker, shownColumn, toShown } from "./deliveries.ts";
import * as sql from "./sql.ts";

export function beginDraft(db: Db, input: BeginDraft): Delivery | Refused {
  const { target, replyTo, now } = input;
  const turn = db.get<{ session: number; runner: string; state: string; fence: number }>(
    sql.turnByNumber,
    input.turn,
  );
  if (turn === undefined || turn.state !== "running" || turn.fence !== input.fence) {
    return refuse("stale_fence", "This turn was finished or taken over by another runner.");
  }
  const there = db.get<{ n: number }>(sql.draftOfTurn, input.turn);
  if (there !== undefined) return delivered(db, there.n);
  const { lastInsertRowid } = db.run(
    sql.insertDelivery,
    target.platform,
    turn.session,
    input.turn,
    JSON.stringify(target),
    ...contentColumns({ parts: [], ...(replyTo !== undefined && { replyTo }) }),
    "draft",
    0,
    now,
    turn.runner,
    // Whoever falls before the note of how it went leaves it open whether anybody saw it.
    shownColumn("unknown"),
    now,
  );
  return delivered(db, lastInsertRowid);
}

function delivered(db: Db, n: number): Delivery {
  const delivery = deliveryOf(db, n);
  if (delivery === undefined) throw new Error(`delivery ${n} is gone in the step that wrote it`);
  return delivery;
}

export function noteDraft(db: Db, { delivery, shown }: NoteDraft): void {
  if (shown === "nothing") db.run(sql.deleteDraft, delivery);
  else db.run(sql.noteDraft, shownColumn(shown), delivery);
}

/** The draft that an earlier attempt at a turn has left. */
export function draftOf(db: Db, turn: number): Turn["draft"] {
  const row = db.get<{ n: number; shown: string | null }>(sql.draftOfTurn, turn);
  return row && { delivery: row.n, shown: toShown(row.shown) };
}

/** The draft becomes the delivery that it announced, under its own number. */
export function completeDraft(db: Db, n: number, delivery: NewDelivery, by: Maker, now: number): Delivery {
  const begun = delivery.begun ?? false;
  useBlobs(db, by.session?.n ?? NO_SESSION, delivery);
  db.run(
    sql.completeDraft,
    delivery.target.platform,
    JSON.stringify(delivery.target),
    ...contentColumns(delivery),
    begun ? "sending" : "waiting",
    begun ? 1 : 0,
    now,
    begun ? by.runner : null,
    n,
  );
  return delivered(db, n);
}

/** The turn ended and has nothing to say in it. Nothing follows; if it was shown, it stays as it stands there. */
export function abandonDraft(db: Db, n: number, now: number): void {
  db.run(sql.abandonDraft, "Its turn ended without it.", now, n);
}
