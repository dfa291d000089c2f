import type {
  AttemptTrace,
  Buttons,
  Delivery,
  DeliveryFailures,
  DeliveryState,
  Enqueue,
  NewDelivery,
  Settle,
  SettledDelivery,
} from "../../core/delivery.ts";
import type { Part } from "../../core/message.ts";
import { type Refused, refuse } from "../../core/refusal.ts";
import type { Source } from "../../core/source.ts";
import { recordBlobUses } from "./append.ts";
import { getBlobHashes, NO_SESSION, releaseBlob } from "./blobs.ts";
import type { Db } from "./db.ts";
import {
  convertReadable,
  type JsonCell,
  parseList,
  parseObject,
  requireList,
  requireObject,
} from "./json-columns.ts";
import { markProcessReported } from "./processes.ts";
import type { SessionRow } from "./rows.ts";
import { filterOrphaned } from "./runners.ts";
import { markApprovalSentSql } from "./statements/approvals.ts";
import { insertBlobSql } from "./statements/blobs.ts";
import { clearNoticeDueSql } from "./statements/conversations.ts";
import {
  beginDeliverySql,
  deferredDeliveriesSql,
  deliveryByNumberSql,
  dueDeliveryNumbersOnPlatformSql,
  dueDeliveryNumbersSql,
  insertDeliverySql,
  pendingDeliveriesByNumberSql,
  sendingDeliveriesSql,
  setDeliveryQuietSql,
  setReplacedDeliverySql,
  settleDeliverySql,
} from "./statements/deliveries.ts";
import { finishCommandSql } from "./statements/inbox.ts";
import { setProcessProgressSql } from "./statements/processes.ts";
import { sessionByIdSql } from "./statements/sessions.ts";

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

/** The session and the turn of a delivery. */
export interface DeliveryOwner {
  readonly session?: { readonly n: number; readonly id: string } | undefined;
  readonly turn?: number;
  /** The runner that sends a delivery with `sendNow`. */
  readonly runner: string;
}

export function insertDelivery(db: Db, by: DeliveryOwner, delivery: NewDelivery, now: number): Delivery {
  const isSending = delivery.sendNow ?? false;
  recordBlobUses(db, by.session?.n ?? NO_SESSION, delivery);
  const n = db.insert(
    insertDeliverySql,
    delivery.target.platform,
    by.session?.n ?? null,
    by.turn ?? null,
    JSON.stringify(delivery.target),
    ...toContentColumns(delivery),
    isSending ? "sending" : "waiting",
    isSending ? 1 : 0,
    now,
    isSending ? by.runner : null,
    null,
    now,
  );
  if (delivery.quiet) db.send(setDeliveryQuietSql, n);
  // Built from the input instead of a second read: every answer ends with a delivery.
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
    nonce: buildNonce(n, now),
    status: isSending
      ? { state: "sending", attempts: 1, shown: "nothing", runner: by.runner }
      : { state: "waiting", attempts: 0, nextAt: now, shown: "nothing" },
  };
}

export function toContentColumns({
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
  if (db.run(beginDeliverySql, input.runner, input.delivery) === 0) return undefined;
  return loadDelivery(db, input.delivery);
}

export function loadDelivery(db: Db, n: number): Delivery | undefined {
  const row = db.get<DeliveryRow>(deliveryByNumberSql, n);
  return row && toDelivery(row);
}

export function settle(db: Db, input: Settle): SettledDelivery | Refused {
  const row = db.get<DeliveryRow>(deliveryByNumberSql, input.delivery);
  if (row === undefined) return refuse("not_found", "There is no such delivery.");
  if (row.state === "sent" || row.state === "dead") return toDelivery(row);
  if (row.state === "draft")
    return refuse("not_allowed", "A draft belongs to its turn and is settled when the turn ends.");
  const { outcome, now } = input;
  const isPending = outcome.state === "waiting";
  db.send(
    settleDeliverySql,
    outcome.state,
    isPending ? outcome.nextAt : row.next_at,
    isPending && outcome.shown !== undefined ? toShownColumn(outcome.shown) : row.shown,
    (outcome.state === "sent" && outcome.platformMessageId) || null,
    outcome.state === "sent" ? null : outcome.error,
    isPending ? null : now,
    isPending && outcome.failed ? 1 : 0,
    isPending && outcome.deferred ? now : null,
    row.n,
  );
  // A session keeps the blobs of its messages; a delivery without a session no longer needs them.
  if (!isPending && row.session_id === null)
    for (const hash of getBlobHashes({ parts: parseList<Part>(row.parts) ?? [] })) releaseBlob(db, hash);
  const notice = insertNotice(db, row, input);
  const settled = toDelivery(db.get<DeliveryRow>(deliveryByNumberSql, row.n) ?? row);
  return { ...settled, ...(notice !== undefined && { notice }) };
}

/** One notice for each delivery: a deferred delivery that fails later gets no second one. */
function insertNotice(db: Db, row: DeliveryRow, { notice, outcome, now }: Settle): Delivery | undefined {
  const isOver = outcome.state === "dead" || (outcome.state === "waiting" && outcome.deferred === true);
  if (notice === undefined || !isOver || row.aside_at !== null) return undefined;
  const inserted = insertDelivery(db, { runner: "" }, { ...notice, sendNow: false }, now);
  db.send(setReplacedDeliverySql, row.n, inserted.number);
  return { ...inserted, noticeFor: row.n };
}

export function listDeferredDeliveries(db: Db, { limit }: { readonly limit: number }): Delivery[] {
  return db.all<DeliveryRow>(deferredDeliveriesSql, limit).map(toDelivery);
}

export function enqueue(db: Db, input: Enqueue): { deliveries: Delivery[] } {
  const { runner, processReport, now } = input;
  if (processReport !== undefined && !markProcessReported(db, { ...processReport, now }))
    return { deliveries: [] };
  for (const { hash, bytes } of input.blobs ?? []) db.send(insertBlobSql, hash, bytes.byteLength, bytes);
  const found = input.session === undefined ? undefined : db.get<SessionRow>(sessionByIdSql, input.session);
  const by = { session: found?.removed_at === null ? found : undefined, runner };
  const deliveries = input.deliveries.map((delivery) => insertDelivery(db, by, delivery, now));
  if (input.answeredCommand !== undefined) db.send(finishCommandSql, input.answeredCommand);
  if (input.resetNoticeFor !== undefined) db.send(clearNoticeDueSql, input.resetNoticeFor);
  if (input.approval !== undefined) db.send(markApprovalSentSql, input.approval);
  if (processReport?.isProgress && deliveries[0] !== undefined)
    db.send(setProcessProgressSql, deliveries[0].number, processReport.process);
  return { deliveries };
}

export function getDelivery(db: Db, { number }: { number: number }): Delivery | undefined {
  return loadDelivery(db, number);
}

/** The number of parameters of `pendingDeliveriesByNumberSql`. */
const NUMBERS_AT_ONCE = 50;

export function listPendingDeliveries(
  db: Db,
  input: { dueAt: number; limit: number; platform?: string; except?: readonly number[] },
): Delivery[] {
  const { dueAt, limit, platform } = input;
  const known = new Set(input.except);
  const enough = limit + known.size;
  const due =
    platform === undefined
      ? db.all<{ n: number }>(dueDeliveryNumbersSql, dueAt, enough)
      : db.all<{ n: number }>(dueDeliveryNumbersOnPlatformSql, platform, dueAt, enough);
  const numbers = due
    .map(({ n }) => n)
    .filter((n) => !known.has(n))
    .slice(0, limit);
  const rows: DeliveryRow[] = [];
  for (let from = 0; from < numbers.length; from += NUMBERS_AT_ONCE) {
    const some = Array.from({ length: NUMBERS_AT_ONCE }, (_, index) => numbers[from + index] ?? 0);
    rows.push(...db.all<DeliveryRow>(pendingDeliveriesByNumberSql, ...some));
  }
  return convertReadable(rows, toDelivery);
}

export function listOrphanedDeliveries(db: Db, input: { platform: string; now: number }): Delivery[] {
  const rows = filterOrphaned(db, db.all<DeliveryRow>(sendingDeliveriesSql, input.platform), input.now);
  return convertReadable(rows, toDelivery);
}

export function toDelivery(row: DeliveryRow): Delivery {
  const cell = (column: string): JsonCell => ({ table: "deliveries", column, row: row.n });
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
    ...(row.in_place_of !== null && { noticeFor: row.in_place_of }),
    nonce: buildNonce(row.n, row.created_at),
    status: toDeliveryState(row),
  };
}

/** Numbers start at 1 in every home; the time distinguishes the homes that one bot has served. */
function buildNonce(n: number, createdAt: number): string {
  return `${createdAt.toString(36)}-${n.toString(36)}`;
}

function toDeliveryState(row: DeliveryRow): DeliveryState {
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
        ...toFailures(row),
      };
    case "sending":
      return {
        state: "sending",
        attempts,
        shown: toShown(row.shown),
        ...(row.runner !== null && { runner: row.runner }),
        ...toFailures(row),
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

function toFailures({ failures, aside_at: deferredAt }: DeliveryRow): DeliveryFailures {
  return { ...(failures > 0 && { failures }), ...(deferredAt !== null && { deferredAt }) };
}

/** In deliveries.shown: NULL is nothing, {} is unknown. */
export function toShownColumn(shown: AttemptTrace): string | null {
  if (shown === "nothing") return null;
  return shown === "unknown" ? "{}" : JSON.stringify({ messageId: shown.messageId });
}

export function toShown(column: string | null): AttemptTrace {
  if (column === null) return "nothing";
  const messageId = parseObject<{ messageId?: string }>(column)?.messageId;
  return messageId === undefined ? "unknown" : { messageId };
}
