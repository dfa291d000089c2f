import type { Delivery, NewDelivery } from "../../core/delivery.ts";
import { type Refused, refuse } from "../../core/refusal.ts";
import type { BeginDraft, DraftOutcome, Turn } from "../../core/turn.ts";
import { recordBlobUses } from "./append.ts";
import { NO_SESSION } from "./blobs.ts";
import type { Db } from "./db.ts";
import { type DeliveryOwner, loadDelivery, toContentColumns, toShown, toShownColumn } from "./deliveries.ts";
import {
  abandonDraftSql,
  completeDraftSql,
  deleteDraftSql,
  draftByTurnSql,
  insertDeliverySql,
  setDraftShownSql,
} from "./statements/deliveries.ts";
import { turnByNumberSql } from "./statements/turns.ts";

export function beginDraft(db: Db, input: BeginDraft): Delivery | Refused {
  const { target, replyTo, now } = input;
  const turn = db.get<{ session: number; runner: string; state: string; fence: number }>(
    turnByNumberSql,
    input.turn,
  );
  if (turn === undefined || turn.state !== "running" || turn.fence !== input.fence) {
    return refuse("stale_fence", "This turn was finished or taken over by another runner.");
  }
  const existing = db.get<{ n: number }>(draftByTurnSql, input.turn);
  if (existing !== undefined) return requireDelivery(db, existing.n);
  const number = db.insert(
    insertDeliverySql,
    target.platform,
    turn.session,
    input.turn,
    JSON.stringify(target),
    ...toContentColumns({ parts: [], ...(replyTo !== undefined && { replyTo }) }),
    "draft",
    0,
    now,
    turn.runner,
    // After a crash before the outcome is recorded, it is unknown whether anybody saw the draft.
    toShownColumn("unknown"),
    now,
  );
  return requireDelivery(db, number);
}

function requireDelivery(db: Db, n: number): Delivery {
  const delivery = loadDelivery(db, n);
  if (delivery === undefined) throw new Error(`delivery ${n} is missing in the step that wrote it`);
  return delivery;
}

export function recordDraftOutcome(db: Db, { delivery, shown }: DraftOutcome): void {
  if (shown === "nothing") db.send(deleteDraftSql, delivery);
  else db.send(setDraftShownSql, toShownColumn(shown), delivery);
}

/** The draft of an earlier attempt of a turn. */
export function findDraft(db: Db, turn: number): Turn["draftDelivery"] {
  const row = db.get<{ n: number; shown: string | null }>(draftByTurnSql, turn);
  return row && { delivery: row.n, shown: toShown(row.shown) };
}

/** The draft becomes the final delivery, under its own number. */
export function completeDraft(
  db: Db,
  n: number,
  delivery: NewDelivery,
  by: DeliveryOwner,
  now: number,
): Delivery {
  const isSending = delivery.sendNow ?? false;
  recordBlobUses(db, by.session?.n ?? NO_SESSION, delivery);
  db.send(
    completeDraftSql,
    delivery.target.platform,
    JSON.stringify(delivery.target),
    ...toContentColumns(delivery),
    isSending ? "sending" : "waiting",
    isSending ? 1 : 0,
    now,
    isSending ? by.runner : null,
    n,
  );
  return requireDelivery(db, n);
}

/** The turn ended without text for the draft. If the draft was shown, it stays in the chat. */
export function abandonDraft(db: Db, n: number, now: number): void {
  db.send(abandonDraftSql, "Its turn ended without it.", now, n);
}
