import { toChatCommand } from "../commands/custom-command.ts";
import { PostriderError } from "../core/errors.ts";
import { getTakeMode } from "../core/gateway-settings.ts";
import { SYSTEM } from "../core/owner.ts";
import { RUNNER_DEAD_MS } from "../core/runner.ts";
import { createSessions } from "../sessions/sessions.ts";
import { every } from "../system/every.ts";
import { type RunnerLife, runnerLife } from "../system/runner-life.ts";
import { activeTurns, isStoreClosed } from "../turns/active-turns.ts";
import { flusher } from "../turns/flush.ts";
import { buildConnectionName, type LeasedConnection, leaseConnection, stayConnected } from "./connect.ts";
import { outbox } from "./deliver.ts";
import { EXPIRY_LEASE, expireConversations, purgeOldRows } from "./expire.ts";
import { type Flow, type PlatformConnection, runInBackground } from "./flow.ts";
import {
  type GatewayOptions,
  type ResolvedGatewayOptions,
  resolveGatewayOptions,
} from "./gateway-options.ts";
import { hooks } from "./hooks.ts";
import { activityLimiter } from "./limit-activity.ts";
import { buildMessengerTurnHooks } from "./messenger-turn.ts";
import { recover } from "./recover.ts";
import { watchProcesses } from "./watch-processes.ts";

export interface Gateway {
  /**
   * Receives nothing more, waits a while for the answers in progress, and sends the deliveries that are ready. Everything
   * else stays in the store for the next start.
   */
  stop(): Promise<void>;
  /** Resolves when the gateway has stopped; rejects when another process took a connection over, or the store is lost. */
  readonly ended: Promise<void>;
}

const RECOVER_EVERY_MS = 5000;
const EXPIRE_EVERY_MS = 60_000;
/** Rarely, because after an outage thousands of deliveries may be pending, and all of them are read. */
const RESCAN_EVERY_MS = 60_000;
/** The delay between a change of the store and the look for deliveries of other processes. */
const POLL_DELAY_MS = 250;
/** The greatest delay of a progress report about a background process. */
const WATCH_EVERY_MS = 5000;
/** How long the answers in progress may still take when the gateway stops. */
const GRACE_MS = 20_000;

/** Starts receiving, answering and delivering. Rejects with `in_use` when another process holds one of the connections. */
export async function startGateway(given: GatewayOptions): Promise<Gateway> {
  const options = resolveGatewayOptions(given);
  const { store, clock, log, runner } = options;
  const failure = Promise.withResolvers<never>();
  failure.promise.catch(() => {}); // `ended` reports it
  const report = (what: string, error: unknown): void => {
    if (isStoreClosed(error)) failure.reject(error);
    log.error({ error }, `${what} failed; the gateway retries`);
  };
  const onError = (error: unknown): void => report("the heartbeat", error);
  const life = options.life ?? (await runnerLife({ store, clock, runner, onError }));
  try {
    return await runFlow(options, life, { ...failure, report });
  } catch (error) {
    life.stop();
    throw error;
  }
}

interface GatewayFailure {
  /** Rejects with the error that ends the gateway. */
  readonly promise: Promise<never>;
  reject(error: unknown): void;
  /** Logs a failed round; a lost store ends the gateway. */
  report(what: string, error: unknown): void;
}

async function runFlow(
  options: ResolvedGatewayOptions,
  life: RunnerLife,
  failure: GatewayFailure,
): Promise<Gateway> {
  const { store, clock, log, platforms } = options;
  const runner = options.runner.id;
  const held = await leaseAll(options, life, (name) => failure.reject(createTakenOverError(name)));
  const receiving = new AbortController();
  const ending = new AbortController();
  const connections = new Map<string, PlatformConnection>();

  const turns = activeTurns({
    store,
    clock,
    claimsNext: true,
    isOwn: () => false,
    agent: (turn) => options.agent(turn.settings),
    nextClaim: (turn) => ({ runner, take: getTakeMode(options.settings(), turn.settings) }),
    timeoutMs: ({ target }) =>
      connections.has(target.platform) ? options.settings().turnMinutes * 60_000 : undefined,
    hooks: (turn) => buildMessengerTurnHooks(flow, turn),
    onEvent: (event) => {
      if (event.type === "turn_failed")
        log.error({ session: event.session, error: event.error }, "a turn failed; the gateway retries it");
    },
  });
  const flow: Flow = {
    store,
    sessions: createSessions({ store, clock, zone: options.settings().zone }),
    clock,
    runner,
    log,
    hooks: hooks(options.hooks ?? [], log),
    turns,
    signal: ending.signal,
    settings: options.settings,
    agent: options.agent,
    getConnection: (name) => connections.get(name),
    platforms: platforms.map(({ name }) => name),
    flush: () => memory.trigger(),
    ...(options.toolHost !== undefined && { toolHost: options.toolHost }),
    customCommands: (options.commands ?? []).map(toChatCommand),
    customTools: options.tools ?? [],
  };
  const memory = flusher(flow, () => options.agent({}));
  platforms.forEach((platform, index) => {
    const canSend = (): boolean => held[index]?.canSend() ?? false;
    connections.set(platform.name, {
      platform,
      outbox: outbox({ store, platform, runner, clock, log, canSend }),
    });
  });

  // Before anything is received: an answer that a crash delayed comes before an answer to a new message.
  await recover(flow);
  const running = platforms.flatMap((platform, index) => {
    const connected = connections.get(platform.name);
    const connection = held[index];
    if (connected === undefined || connection === undefined) return [];
    return [stayConnected(flow, connected, connection, receiving.signal)];
  });

  const processes = watchProcesses(flow);
  const limitActivity = activityLimiter(flow);
  repeat("recovery", RECOVER_EVERY_MS, () => recover(flow));
  repeat("the scan for pending deliveries", RESCAN_EVERY_MS, () => lookForDeliveries(0));
  repeat("watching processes", WATCH_EVERY_MS, () => processes.poll());
  repeat("expiry", EXPIRE_EVERY_MS, async () => {
    const lease = { name: EXPIRY_LEASE, runner, ttlMs: RUNNER_DEAD_MS + EXPIRE_EVERY_MS, now: clock.now() };
    flow.flush?.();
    if ((await store.runners.acquireLease(lease)) === undefined) return;
    await limitActivity();
    await expireConversations(flow);
    await purgeOldRows(flow);
  });
  const unlisten = [
    store.onChange(debounce(POLL_DELAY_MS, () => lookForDeliveries(), ending.signal)),
    store.onChange(debounce(POLL_DELAY_MS, () => processes.poll(), ending.signal)),
  ];
  // Processes may have ended while no gateway ran.
  runInBackground(log, "watching processes", processes.poll());
  memory.trigger();
  // The first read may load parts of the store: a person's first /status or /stop must not wait for that.
  runInBackground(log, "the first read", store.sessions.getDiagnostics({ asker: SYSTEM, session: "none" }));
  runInBackground(log, "a hook", flow.hooks.emit("gateway:startup", { platforms: flow.platforms }));
  log.info({ platforms: flow.platforms, runner }, "the gateway runs");

  function repeat(what: string, ms: number, work: () => Promise<unknown>): void {
    every(ms, ending.signal, work, (error) => failure.report(what, error));
  }

  async function lookForDeliveries(after?: number): Promise<void> {
    for (const connected of connections.values()) await connected.outbox.poll(after);
  }

  let stopping: Promise<void> | undefined;
  async function stop(): Promise<void> {
    receiving.abort();
    await Promise.allSettled(running);
    await processes.close();
    await turns.close(GRACE_MS);
    ending.abort();
    await memory.close();
    for (const forget of unlisten) forget();
    for (const { outbox: out } of connections.values()) await out.close();
    for (const connection of held) await connection.release();
    await store.runners.releaseLease({ name: EXPIRY_LEASE, runner });
    await life.retire();
    log.info({}, "the gateway has stopped");
  }
  const stopOnce = (): Promise<void> => {
    stopping ??= stop();
    return stopping;
  };
  const ended = Promise.race([failure.promise, Promise.all(running)]).then(
    () => stopOnce(),
    async (error: unknown) => {
      log.error({ error }, "the gateway stops because of an error");
      await stopOnce().catch(() => {}); // the first error is the reason
      throw error;
    },
  );
  ended.catch(() => {}); // the caller handles it
  return { stop: stopOnce, ended };
}

/** Leases all connections, or none. The error names the holders of the others. */
async function leaseAll(
  { store, clock, platforms }: ResolvedGatewayOptions,
  life: RunnerLife,
  onLost: (name: string) => void,
): Promise<readonly LeasedConnection[]> {
  const held: LeasedConnection[] = [];
  const missing: string[] = [];
  for (const platform of platforms) {
    const connection = await leaseConnection(life, platform, onLost);
    if (connection === undefined) missing.push(buildConnectionName(platform));
    else held.push(connection);
  }
  if (missing.length === 0) return held;
  for (const connection of held) await connection.release();
  await life.retire();
  const leases = await store.runners.listLeases({ now: clock.now() });
  const holders = leases
    .filter(({ name }) => missing.includes(name))
    .map(({ name, runner: { pid, host } }) => `${name} (process ${pid} on ${host})`);
  throw new PostriderError(
    "in_use",
    `Another gateway already runs and holds ${holders.join(", ") || missing.join(", ")}. Stop it with postrider gateway stop.`,
    { details: { leases: missing } },
  );
}

function createTakenOverError(name: string): PostriderError {
  return new PostriderError("in_use", `Another gateway has taken over ${name}, so this one stops.`);
}

/** Runs `work` a little after a change, once for all changes in between. */
function debounce(ms: number, work: () => Promise<void>, signal: AbortSignal): () => void {
  let timer: NodeJS.Timeout | undefined;
  return () => {
    if (timer !== undefined || signal.aborted) return;
    timer = setTimeout(() => {
      timer = undefined;
      if (!signal.aborted) work().catch(() => {}); // the next round retries
    }, ms);
  };
}
