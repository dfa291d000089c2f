import type {
  Buttons,
  Delivery,
  DeliveryState,
  Enqueue,
  NewDelivery,
  Settle,
  SettledDelivery,
  Shown,
  Trouble,
} from "../../core/delivery.ts";
import type { Part } from "../../core/message.ts";
import { type Refused, refuse } from "../../core/refusal.ts";
import type { Source } from "../../core/source.ts";
import { useBlobs } from "./append.ts";
import { blobsOf, NO_SESSION, releaseBlob } from "./blobs.ts";
import type { Db } from "./connection.ts";
import {
  type Cell,
  convertReadable,
  parseList,
  parseObject,
  requireList,
  requireObject,
} from "./json-columns.ts";
import { tellProcess } from "./processes.ts";
import type { SessionRow } from "./rows.ts";
import { left } from "./runners.ts";
import * as sql from "./sql.ts";

export interface DeliveryRow {
  n: number;
  session_id: string | null;
  turn: number | null;
  target: string;
  parts: string;
  reply_to: string | null;
  buttons: string | null;
  quiet: number;
  state: DeliveryState["state"];
  attempts: number;
  next_at: number;
  runner: string | null;
  shown: string | null;
  platform_message_id: string | null;
  last_error: string | null;
  created_at: number;
  settled_at: number | null;
  failures: number;
  aside_at: number | null;
  in_place_of: number | null;
}

/** What a delivery belongs to. */
export interface Maker {
  readonly session?: { readonly n: number; readonly id: string } | undefined;
  readonly turn?: number;
  /** Who sends what is begun. */
  readonly runner: string;
}

export function insertDelivery(db: Db, by: Maker, delivery: NewDelivery, now: number): Delivery {
  const begun = delivery.begun ?? false;
  useBlobs(db, by.session?.n ?? NO_SESSION, delivery);
  const { lastInsertRowid: n } = db.run(
    sql.insertDelivery,
    delivery.target.platform,
    by.session?.n ?? null,
    by.turn ?? null,
    JSON.stringify(delivery.target),
    ...contentColumns(delivery),
    begun ? "sending" : "waiting",
    begun ? 1 : 0,
    now,
    begun ? by.runner : null,
    null,
    now,
  );
  if (delivery.quiet) db.run(sql.quietDelivery, n);
  // As the row is now, without reading it again: every answer ends with one.
  const { target, parts, replyTo, buttons, quiet } = delivery;
  return {
    number: n,
    ...(by.session !== undefined && { session: by.session.id }),
    ...(by.turn !== undefined && { turn: by.turn }),
    target,
    parts,
    ...(replyTo !== undefined && { replyTo }),
    ...(buttons !== undefined && { buttons }),
    ...(quiet && { quiet }),
    nonce: nonceOf(n, now),
    status: begun
      ? { state: "sending", attempts: 1, shown: "nothing", runner: by.runner }
      : { state: "waiting", attempts: 0, nextAt: now, shown: "nothing" },
  };
}

export function contentColumns({
  parts,
  replyTo,
  buttons,
}: Pick<NewDelivery, "parts" | "replyTo" | "buttons">): [
  parts: string,
  replyTo: string | null,
  buttons: string | null,
] {
  return [JSON.stringify(parts), replyTo ?? null, buttons === undefined ? null : JSON.stringify(buttons)];
}

export function beginDelivery(
  db: Db,
  input: { delivery: number; runner: string; now: number },
): Delivery | undefined {
  if (db.run(sql.beginDelivery, input.runner, input.delivery).changes === 0) return undefined;
  return deliveryOf(db, input.delivery);
}

export function deliveryOf(db: Db, n: number): Delivery | undefined {
  const row = db.get<DeliveryRow>(sql.deliveryByNumber, n);
  return row && toDelivery(row);
}

export function settle(db: Db, input: Settle): SettledDelivery | Refused {
  const row = db.get<DeliveryRow>(sql.deliveryByNumber, input.delivery);
  if (row === undefined) return refuse("not_found", "There is no such delivery.");
  if (row.state === "sent" || row.state === "dead") return toDelivery(row);
  if (row.state === "draft")
    return refuse("not_allowed", "A draft belongs to its turn; the turn's end says what becomes of it.");
  const { outcome, now } = input;
  const waits = outcome.state === "waiting";
  db.run(
    sql.settleDelivery,
    outcome.state,
    waits ? outcome.nextAt : row.next_at,
    waits && outcome.shown !== undefined ? shownColumn(outcome.shown) : row.shown,
    (outcome.state === "sent" && outcome.platformMessageId) || null,
    outcome.state === "sent" ? null : outcome.error,
    waits ? null : now,
    waits && outcome.failed ? 1 : 0,
    waits && outcome.aside ? now : null,
    row.n,
  );
  // A session keeps the bytes of what was said in it; what belongs to none needs them no longer.
  if (!waits && row.session_id === null)
    for (const hash of blobsOf({ parts: parseList<Part>(row.parts) ?? [] })) releaseBlob(db, hash);
  const notice = insertNotice(db, row, input);
  const settled = toDelivery(db.get<DeliveryRow>(sql.deliveryByNumber, row.n) ?? row);
  return { ...settled, ...(notice !== undefined && { notice }) };
}

/** Once for each delivery: one that stepped aside is dead later without another word. */
function insertNotice(db: Db, row: DeliveryRow, { notice, outcome, now }: Settle): Delivery | undefined {
  const isOver = outcome.state === "dead" || (outcome.state === "waiting" && outcome.aside === true);
  if (notice === undefined || !isOver || row.aside_at !== null) return undefined;
  const inserted = insertDelivery(db, { runner: "" }, { ...notice, begun: false }, now);
  db.run(sql.placeDelivery, row.n, inserted.number);
  return { ...inserted, inPlaceOf: row.n };
}

export function deliveriesAside(db: Db, { limit }: { readonly limit: number }): Delivery[] {
  return db.all<DeliveryRow>(sql.deliveriesAside, limit).map(toDelivery);
}

export function enqueue(db: Db, input: Enqueue): { deliveries: Delivery[] } {
  const { runner, tells, now } = input;
  if (tells !== undefined && !tellProcess(db, { ...tells, now })) return { deliveries: [] };
  for (const { hash, bytes } of input.blobs ?? []) db.run(sql.insertBlob, hash, bytes.byteLength, bytes);
  const found = input.session === undefined ? undefined : db.get<SessionRow>(sql.sessionById, input.session);
  const by = { session: found?.removed_at === null ? found : undefined, runner };
  const deliveries = input.deliveries.map((delivery) => insertDelivery(db, by, delivery, now));
  if (input.line !== undefined) db.run(sql.lineDone, input.line);
  if (input.noticed !== undefined) db.run(sql.noticeGiven, input.noticed);
  if (input.asks !== undefined) db.run(sql.approvalPut, input.asks);
  if (tells?.isProgress && deliveries[0] !== undefined)
    db.run(sql.setProgress, deliveries[0].number, tells.process);
  return { deliveries };
}

export function delivery(db: Db, { number }: { number: number }): Delivery | undefined {
  return deliveryOf(db, number);
}

export function deliveries(
  db: Db,
  input: { dueAt: number; limit: number; platform?: string; after?: number },
): Delivery[] {
  const { dueAt, limit, platform, after = 0 } = input;
  const rows =
    platform === undefined
      ? db.all<DeliveryRow>(sql.deliveriesDue, dueAt, after, limit)
      : db.all<DeliveryRow>(sql.deliveriesDueOn, platform, dueAt, after, limit);
  return convertReadable(rows, toDelivery);
}

export function leftDeliveries(db: Db, input: { platform: string; now: number }): Delivery[] {
  const rows = left(db, db.all<DeliveryRow>(sql.deliveriesBegunOn, input.platform), input.now);
  return convertReadable(rows, toDelivery);
}

export function toDelivery(row: DeliveryRow): Delivery {
  const cell = (column: string): Cell => ({ table: "deliveries", column, row: row.n });
  const buttons = parseList(row.buttons) as Buttons | undefined;
  return {
    number: row.n,
    ...(row.session_id !== null && { session: row.session_id }),
    ...(row.turn !== null && { turn: row.turn }),
    target: requireObject<Source>(row.target, cell("target")),
    parts: requireList<Part>(row.parts, cell("parts")),
    ...(row.reply_to !== null && { replyTo: row.reply_to }),
    ...(buttons !== undefined && { buttons }),
    ...(row.quiet === 1 && { quiet: true }),
    ...(row.in_place_of !== null && { inPlaceOf: row.in_place_of }),
    nonce: nonceOf(row.n, row.created_at),
    status: statusOf(row),
  };
}

/** Numbers begin at 1 in every home; the instant tells the homes apart that one bot has served. */
function nonceOf(n: number, createdAt: number): string {
  return `${createdAt.toString(36)}-${n.toString(36)}`;
}

function statusOf(row: DeliveryRow): DeliveryState {
  const { attempts } = row;
  switch (row.state) {
    case "draft":
      return { state: "draft", attempts, shown: toShown(row.shown) };
    case "waiting":
      return {
        state: "waiting",
        attempts,
        nextAt: row.next_at,
        shown: toShown(row.shown),
        ...(row.last_error !== null && { lastError: row.last_error }),
        ...troubleOf(row),
      };
    case "sending":
      return {
        state: "sending",
        attempts,
        shown: toShown(row.shown),
        ...(row.runner !== null && { runner: row.runner }),
        ...troubleOf(row),
      };
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

function troubleOf({ failures, aside_at: asideAt }: DeliveryRow): Trouble {
  return { ...(failures > 0 && { failures }), ...(asideAt !== null && { asideAt }) };
}

/** In deliveries.shown: NULL is nothing, {} is unknown. */
export function shownColumn(shown: Shown): string | null {
  if (shown === "nothing") return null;
  return shown === "unknown" ? "{}" : JSON.stringify({ messageId: shown.messageId });
}

export function toShown(column: string | null): Shown {
  if (column === null) return "nothing";
  const messageId = parseObject<{ messageId?: string }>(column)?.messageId;
  return messageId === undefined ? "unknown" : { messageId };
}
