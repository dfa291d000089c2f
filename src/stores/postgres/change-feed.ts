import { pause } from "../../system/pause.ts";
import type { PgClient } from "./driver.ts";
import { computeBackOff } from "./pool.ts";
import { quoteName } from "./statements.ts";

export interface ChangeFeed {
  onChange(listener: () => void): () => void;
  /** After a commit of this store. */
  notify(): void;
  close(): Promise<void>;
}

export interface ChangeFeedOptions {
  readonly channel: string;
  /** The payload of this store's own notifications, which it ignores. */
  readonly ownPayload: string;
  /** A pooler gives no connection on which LISTEN works; then the feed polls often. */
  readonly canListen: boolean;
  connect(): Promise<PgClient>;
}

/** Changes when any transaction of the server commits. */
const snapshotSql = "select pg_current_snapshot()::text as snapshot";
/** For notifications that were lost, and for connections that ended without a word. */
const SLOW_POLL_MS = 5000;
const FAST_POLL_MS = 150;
const MAX_BACK_OFF_MS = 5000;

/** Tells listeners of commits of all stores on this database. It is connected only while somebody listens. */
export function createChangeFeed(options: ChangeFeedOptions): ChangeFeed {
  const listeners = new Set<() => void>();
  let running: { readonly done: Promise<void>; readonly stop: AbortController } | undefined;
  let isClosed = false;

  /** Each in its own microtask: a failing listener must not fail the write. */
  function notify(): void {
    for (const listener of listeners) queueMicrotask(listener);
  }
  function start(): void {
    const stop = new AbortController();
    const before = running?.done;
    const done = (async () => {
      await before;
      await followChanges(options, notify, stop.signal);
    })();
    running = { done, stop };
  }
  return {
    onChange(listener) {
      listeners.add(listener);
      if (listeners.size === 1 && !isClosed) start();
      return () => {
        if (listeners.delete(listener) && listeners.size === 0) running?.stop.abort();
      };
    },
    notify,
    async close() {
      isClosed = true;
      running?.stop.abort();
      await running?.done;
    },
  };
}

/** Follows the changes until the signal, through as many connections as it takes. */
async function followChanges(
  options: ChangeFeedOptions,
  notify: () => void,
  signal: AbortSignal,
): Promise<void> {
  for (let failures = 0; !signal.aborted; failures += 1) {
    try {
      await followConnection(options, notify, signal, () => {
        failures = 0;
      });
    } catch {
      // The database is away, which every call reports. The next connection wakes all listeners.
    }
    await pause(computeBackOff(failures, MAX_BACK_OFF_MS), signal);
  }
}

async function followConnection(
  { connect, channel, ownPayload, canListen }: ChangeFeedOptions,
  notify: () => void,
  signal: AbortSignal,
  onConnected: () => void,
): Promise<void> {
  const client = await connect();
  const ended = new AbortController();
  client.on("error", () => ended.abort());
  client.on("end", () => ended.abort());
  try {
    const either = AbortSignal.any([signal, ended.signal]);
    if (canListen) {
      client.on("notification", ({ payload }) => {
        if (payload !== ownPayload) notify();
      });
      await client.query(`listen ${quoteName(channel)}`);
    }
    onConnected();
    // Anything may have happened before.
    notify();
    let last = await readSnapshot(client);
    while (!either.aborted) {
      await pause(canListen ? SLOW_POLL_MS : FAST_POLL_MS, either);
      if (either.aborted) return;
      const snapshot = await readSnapshot(client);
      if (snapshot !== last) notify();
      last = snapshot;
    }
  } finally {
    await client.end().catch(() => {}); // it may have ended already
  }
}

async function readSnapshot(client: PgClient): Promise<string> {
  const { rows } = await client.query(snapshotSql);
  return (rows[0] as { snapshot: string }).snapshot;
}
