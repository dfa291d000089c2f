import { pause } from "../../system/pause.ts";
import type { PgClient } from "./driver.ts";
import { computeRetryPause } from "./pool.ts";
import { quoteName } from "./statements.ts";

export interface ChangeFeed {
  onChange(listener: () => void): () => void;
  /** After a commit of this store: tells its listeners, and those of all other stores. */
  publish(): void;
  close(): Promise<void>;
}

export interface ChangeFeedOptions {
  readonly channel: string;
  /** The payload of this store's own notifications, which it ignores. */
  readonly ownPayload: string;
  /** A pooler gives no connection on which LISTEN works; then the feed polls often. */
  readonly canListen: boolean;
  /** A connection that only the feed uses. */
  connect(): Promise<PgClient>;
}

/** Changes when any transaction of the server commits. */
const snapshotSql = "select pg_current_snapshot()::text as snapshot";
/** For notifications that were lost, and for connections that ended without a word. */
const SLOW_POLL_MS = 5000;
const FAST_POLL_MS = 150;
const MAX_BACK_OFF_MS = 5000;
/** The least time between two notifications: a listener that reads for each would only slow the others down. */
const NOTIFICATION_PAUSE_MS = 10;
/** A store that closes waits this long for its last notification. */
const LAST_NOTIFICATION_MS = 1000;

/**
 * Tells listeners of commits of all stores on this database. It listens from the start, on the connection that opened the
 * store: a listener that is added later misses nothing and hears of nothing earlier.
 */
export async function startChangeFeed(options: ChangeFeedOptions, first: PgClient): Promise<ChangeFeed> {
  const listeners = new Set<() => void>();
  const stop = new AbortController();
  /** Each in its own microtask: a failing listener must not fail the write. */
  const notify = (): void => {
    for (const listener of listeners) queueMicrotask(listener);
  };
  const hasListeners = (): boolean => listeners.size > 0;
  const publisher = createPublisher(options);
  const feed = { ...options, notify, hasListeners, publisher, signal: stop.signal };
  const done = followChanges(feed, await follow(feed, first));
  return {
    onChange(listener) {
      listeners.add(listener);
      return () => {
        listeners.delete(listener);
      };
    },
    publish() {
      notify();
      publisher.publish();
    },
    async close() {
      await Promise.race([publisher.drain(), pause(LAST_NOTIFICATION_MS, stop.signal)]);
      stop.abort();
      await done;
    },
  };
}

const notifySql = "select pg_notify($1, $2)";

interface Publisher {
  publish(): void;
  /** When all notifications are sent. */
  drain(): Promise<void>;
  use(client: PgClient | undefined): void;
}

/**
 * Sends notifications, one for all commits since the last. Not within the transactions: a transaction with NOTIFY holds a
 * lock of the whole server until its commit is on the disk, so that no two of them can share a write to the disk. A
 * notification that is lost with its process or connection is replaced by the slow poll of the others.
 */
function createPublisher({ channel, ownPayload }: ChangeFeedOptions): Publisher {
  let client: PgClient | undefined;
  let running: Promise<void> | undefined;
  let isDue = false;
  async function send(): Promise<void> {
    while (isDue && client !== undefined) {
      isDue = false;
      await client.query({ text: notifySql, values: [channel, ownPayload] }).catch(() => {
        isDue = true;
        client = undefined; // the next connection sends it
      });
      await pause(NOTIFICATION_PAUSE_MS);
    }
    running = undefined;
  }
  const start = (): void => {
    if (isDue && client !== undefined) running ??= send();
  };
  return {
    publish() {
      isDue = true;
      start();
    },
    async drain() {
      await running;
    },
    use(next) {
      client = next;
      start();
    },
  };
}

interface Feed extends ChangeFeedOptions {
  readonly publisher: Publisher;
  notify(): void;
  hasListeners(): boolean;
  readonly signal: AbortSignal;
}

interface FollowedConnection {
  readonly client: PgClient;
  /** Aborts when the connection has ended. */
  readonly ended: AbortSignal;
}

async function follow(
  { channel, ownPayload, canListen, notify, publisher }: Feed,
  client: PgClient,
): Promise<FollowedConnection> {
  const ended = new AbortController();
  client.on("error", () => ended.abort());
  client.on("end", () => ended.abort());
  client.on("notification", ({ payload }) => {
    if (payload !== ownPayload) notify();
  });
  if (canListen) await client.query(`listen ${quoteName(channel)}`);
  publisher.use(client);
  return { client, ended: ended.signal };
}

/** Follows the changes until the signal, through as many connections as it takes. */
async function followChanges(feed: Feed, first: FollowedConnection): Promise<void> {
  let followed: FollowedConnection | undefined = first;
  for (let failures = 0; !feed.signal.aborted; failures += 1) {
    try {
      if (followed === undefined) {
        followed = await follow(feed, await feed.connect());
        // Anything may have happened meanwhile.
        feed.notify();
      }
      failures = 0;
      await pollConnection(feed, followed);
    } catch {
      // The database is away, which every call reports. The next connection wakes all listeners.
    }
    feed.publisher.use(undefined);
    await followed?.client.end().catch(() => {}); // it may have ended already
    followed = undefined;
    await pause(computeRetryPause(failures, MAX_BACK_OFF_MS), feed.signal);
  }
}

/** Until the connection or the feed ends. Rejects if the connection does not answer. */
async function pollConnection(feed: Feed, { client, ended }: FollowedConnection): Promise<void> {
  const either = AbortSignal.any([feed.signal, ended]);
  let last: string | undefined;
  while (!either.aborted) {
    if (feed.canListen || feed.hasListeners()) {
      const { rows } = await client.query(snapshotSql);
      const { snapshot } = rows[0] as { snapshot: string };
      // The first snapshot has nothing to be compared with; without LISTEN, it may be a change.
      if (last === undefined ? !feed.canListen : snapshot !== last) feed.notify();
      last = snapshot;
    } else last = undefined;
    await pause(feed.canListen ? SLOW_POLL_MS : FAST_POLL_MS, either);
  }
}
