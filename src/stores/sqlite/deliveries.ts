import type { Delivery, DeliveryState, NewDelivery, Settle } from "../../core/delivery.ts";
import type { Part } from "../../core/message.ts";
import { type Refused, refuse } from "../../core/refusal.ts";
import type { Source } from "../../core/source.ts";
import type { Db } from "./connection.ts";
import * as sql from "./sql.ts";

export interface DeliveryRow {
  n: number;
  session_id: string;
  turn: number | null;
  target: string;
  parts: string;
  state: DeliveryState["state"];
  attempts: number;
  next_at: number;
  runner: string | null;
  platform_message_id: string | null;
  last_error: string | null;
  settled_at: number | null;
}

export function insertDelivery(
  db: Db,
  session: number,
  turn: number,
  runner: string,
  delivery: NewDelivery,
  now: number,
): number {
  const begun = delivery.begun ?? false;
  return db.run(
    sql.insertDelivery,
    session,
    turn,
    JSON.stringify(delivery.target),
    JSON.stringify(delivery.parts),
    begun ? "sending" : "waiting",
    begun ? 1 : 0,
    now,
    begun ? runner : null,
    now,
  ).lastInsertRowid;
}

export function settle(db: Db, input: Settle): Delivery | Refused {
  const row = db.get<DeliveryRow>(sql.deliveryByNumber, input.delivery);
  if (row === undefined) return refuse("not_found", "There is no such delivery.");
  if (row.state === "sent" || row.state === "dead") return toDelivery(row);
  const { outcome, now } = input;
  const settledAt = outcome.state === "waiting" ? null : now;
  db.run(
    sql.settleDelivery,
    outcome.state,
    outcome.state === "waiting" ? outcome.nextAt : row.next_at,
    (outcome.state === "sent" && outcome.platformMessageId) || null,
    outcome.state === "sent" ? null : outcome.error,
    settledAt,
    row.n,
  );
  return toDelivery(db.get<DeliveryRow>(sql.deliveryByNumber, row.n) ?? row);
}

export function deliveries(db: Db, input: { dueAt: number; limit: number }): Delivery[] {
  return db.all<DeliveryRow>(sql.deliveriesDue, input.dueAt, input.limit).map(toDelivery);
}

export function toDelivery(row: DeliveryRow): Delivery {
  return {
    number: row.n,
    session: row.session_id,
    ...(row.turn !== null && { turn: row.turn }),
    target: JSON.parse(row.target) as Source,
    parts: JSON.parse(row.parts) as Part[],
    status: statusOf(row),
  };
}

function statusOf(row: DeliveryRow): DeliveryState {
  const { attempts } = row;
  switch (row.state) {
    case "waiting":
      return {
        state: "waiting",
        attempts,
        nextAt: row.next_at,
        ...(row.last_error !== null && { lastError: row.last_error }),
      };
    case "sending":
      return { state: "sending", attempts, ...(row.runner !== null && { runner: row.runner }) };
    case "sent":
      return {
        state: "sent",
        attempts,
        at: row.settled_at ?? 0,
        ...(row.platform_message_id !== null && { platformMessageId: row.platform_message_id }),
      };
    case "dead":
      return { state: "dead", attempts, at: row.settled_at ?? 0, lastError: row.last_error ?? "" };
  }
}
