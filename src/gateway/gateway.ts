import { toChatCommand } from "../commands/custom-command.ts";
import { PostriderError } from "../core/errors.ts";
import { getTakeMode } from "../core/gateway-settings.ts";
import { SYSTEM } from "../core/owner.ts";
import { RUNNER_DEAD_MS } from "../core/runner.ts";
import type { Platform } from "../ports/platform.ts";
import { createSessions } from "../sessions/sessions.ts";
import { every } from "../system/every.ts";
import { pause } from "../system/pause.ts";
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
import { recover, recoverTurns } from "./recover.ts";
import { storedOutbox } from "./stored-outbox.ts";
import { watchProcesses } from "./watch-processes.ts";

export interface Gateway {
  /**
   * Receives nothing more, waits a while for the answers in progress, and sends the deliveries that are ready. Everything
   * else stays in the store for the next start.
   */
  stop(): Promise<void>;
  /** The number of running turns. */
  countTurns(): number;
  /** Resolves when the gateway has stopped; rejects when another process took a connection over, or the store is lost. */
  readonly ended: Promise<void>;
}

const RECOVER_EVERY_MS = 5000;
const EXPIRE_EVERY_MS = 60_000;
/** The delay between a change of the store and the look for deliveries of other processes. */
const POLL_DELAY_MS = 250;
/** The greatest delay of a progress report about a background process. */
const WATCH_EVERY_MS = 5000;
/** How often a standby looks for a connection that has become free. */
const STANDBY_MS = 2000;
/** The delay between a change of the store and the look for requests of other processes. */
const REQUEST_DELAY_MS = 50;
/** How long the answers in progress may still take when the gateway stops. */
const GRACE_MS = 20_000;
/** And when it drains: nobody waits for its end. */
const DRAIN_GRACE_MS = 10 * 60_000;

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
  const onLost = (name: string): void => failure.reject(createTakenOverError(name));
  const held = new Map<string, LeasedConnection>();
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
    hasRoom: () => turns.count() < (options.settings().maxTurns ?? Number.POSITIVE_INFINITY),
    isShared: options.standby === true || options.worker === true,
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
  const running: Promise<void>[] = [];

  function open(platform: Platform, leased: LeasedConnection): void {
    held.set(platform.name, leased);
    const { canSend } = leased;
    connections.set(platform.name, {
      platform,
      outbox: outbox({ store, platform, runner, clock, log, canSend }),
    });
  }

  function receiveFrom({ name }: Platform): void {
    const [connected, leased] = [connections.get(name), held.get(name)];
    if (connected !== undefined && leased !== undefined)
      running.push(stayConnected(flow, connected, leased, receiving.signal));
  }

  const recoverAll = (): Promise<void> => (options.worker ? recoverTurns(flow) : recover(flow));
  if (options.worker)
    for (const platform of platforms) connections.set(platform.name, buildStoredConnection(flow, platform));
  else if (!options.standby)
    for (const [platform, leased] of await leaseAll(options, life, onLost)) open(platform, leased);
  // Before anything is received: an answer that a crash delayed comes before an answer to a new message.
  await recoverAll();
  for (const platform of platforms) receiveFrom(platform);
  if (options.worker) running.push(untilAborted(receiving.signal));
  else if (options.standby) running.push(standBy());

  /** Takes over the connections that no other gateway holds, one after the other, so that several gateways share them. */
  async function standBy(): Promise<void> {
    const { signal } = receiving;
    while (!signal.aborted) {
      const free = platforms.filter(({ name }) => !connections.has(name));
      await takeOverOne(free).catch((error: unknown) => failure.report("taking over a connection", error));
      // A gateway without a connection comes first.
      await pause(STANDBY_MS * (1 + connections.size), signal);
    }
  }

  async function takeOverOne(candidates: readonly Platform[]): Promise<void> {
    for (const platform of candidates) {
      const leased = await leaseConnection(life, platform, onLost);
      if (leased === undefined) continue;
      if (receiving.signal.aborted) return leased.release();
      open(platform, leased);
      await recoverFirst();
      receiveFrom(platform);
      return;
    }
  }

  /** Retries while the store fails: without this, the connection would be held, and nobody would receive from it. */
  async function recoverFirst(): Promise<void> {
    const { signal } = receiving;
    while (!signal.aborted) {
      try {
        return await recover(flow);
      } catch (error) {
        failure.report("recovery after taking over a connection", error);
        await pause(STANDBY_MS, signal);
      }
    }
  }

  const processes = watchProcesses(flow);
  /** A worker leaves the reports to the gateways. */
  const pollProcesses = async (): Promise<void> => (options.worker ? undefined : processes.poll());
  const limitActivity = activityLimiter(flow);
  repeat("recovery", RECOVER_EVERY_MS, recoverAll);
  repeat("watching processes", WATCH_EVERY_MS, pollProcesses);
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
    store.onChange(debounce(POLL_DELAY_MS, pollProcesses, ending.signal)),
  ];
  if (flow.isShared) {
    repeat("reading requests", RECOVER_EVERY_MS, followRequests);
    unlisten.push(store.onChange(debounce(REQUEST_DELAY_MS, followRequests, ending.signal)));
  }
  unlisten.push(store.onChange(debounce(REQUEST_DELAY_MS, claimWaitingTurns, ending.signal)));
  // Processes may have ended while no gateway ran.
  runInBackground(log, "watching processes", pollProcesses());
  memory.trigger();
  // The first read may load parts of the store: a person's first /status or /stop must not wait for that.
  runInBackground(log, "the first read", store.sessions.getDiagnostics({ asker: SYSTEM, session: "none" }));
  runInBackground(log, "a hook", flow.hooks.emit("gateway:startup", { platforms: flow.platforms }));
  log.info({ platforms: flow.platforms, runner }, "the gateway runs");

  function repeat(what: string, ms: number, work: () => Promise<unknown>): void {
    every(ms, ending.signal, work, (error) => failure.report(what, error));
  }

  /** Turns that waited for room, here or in a gateway. Without a limit, none does. */
  async function claimWaitingTurns(): Promise<void> {
    if (options.worker || options.settings().maxTurns !== undefined) await recoverTurns(flow);
  }

  /** What other processes ask of this one. */
  async function followRequests(): Promise<void> {
    const { stopTurns, drain } = await store.runners.getRequests({ runner });
    for (const turn of stopTurns) runInBackground(log, "stopping a turn", turns.stop({ turn }));
    if (drain && stopping === undefined) {
      log.info({}, "the gateway was asked to drain");
      runInBackground(log, "draining", stopOnce(true));
    }
  }

  async function lookForDeliveries(): Promise<void> {
    for (const connected of connections.values()) await connected.outbox.poll();
  }

  /** Another gateway takes the connections over, and sends what is stored from now on. */
  async function handOver(): Promise<void> {
    for (const { outbox: out } of connections.values()) await out.close();
    for (const connection of held.values()) await connection.release();
    held.clear();
    // From here on, crashed turns are left to the other gateways, too.
    connections.clear();
  }

  let stopping: Promise<void> | undefined;
  async function stop(isDraining: boolean): Promise<void> {
    receiving.abort();
    await Promise.allSettled(running);
    if (isDraining) await handOver();
    await processes.close();
    await turns.close(isDraining ? DRAIN_GRACE_MS : GRACE_MS);
    ending.abort();
    await memory.close();
    for (const forget of unlisten) forget();
    try {
      await handOver();
      await store.runners.releaseLease({ name: EXPIRY_LEASE, runner });
    } finally {
      // Also if the store fails: heartbeats that went on would keep the connections from other gateways.
      await life.retire();
    }
    log.info({}, "the gateway has stopped");
  }
  function stopOnce(isDraining = false): Promise<void> {
    stopping ??= stop(isDraining);
    return stopping;
  }
  const ended = Promise.race([failure.promise, Promise.all(running)]).then(
    () => stopOnce(),
    async (error: unknown) => {
      log.error({ error }, "the gateway stops because of an error");
      await stopOnce().catch(() => {}); // the first error is the reason
      throw error;
    },
  );
  ended.catch(() => {}); // the caller handles it
  return { stop: () => stopOnce(), countTurns: () => turns.count(), ended };
}

/** Leases all connections, or none. The error names the holders of the others. */
async function leaseAll(
  { store, clock, platforms }: ResolvedGatewayOptions,
  life: RunnerLife,
  onLost: (name: string) => void,
): Promise<ReadonlyMap<Platform, LeasedConnection>> {
  const held = new Map<Platform, LeasedConnection>();
  const missing: string[] = [];
  for (const platform of platforms) {
    const connection = await leaseConnection(life, platform, onLost);
    if (connection === undefined) missing.push(buildConnectionName(platform));
    else held.set(platform, connection);
  }
  if (missing.length === 0) return held;
  for (const connection of held.values()) await connection.release();
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

/** For a worker, which stores what the holder of the connection sends. It can neither edit nor look up a message. */
function buildStoredConnection(
  flow: Flow,
  { name, account, traits, replyMode }: Platform,
): PlatformConnection {
  const cannotConnect = (): Promise<never> => Promise.reject(new Error("A worker does not connect."));
  const platform: Platform = {
    name,
    account,
    traits,
    ...(replyMode !== undefined && { replyMode }),
    run: cannotConnect,
    send: cannotConnect,
  };
  return { platform, outbox: storedOutbox({ ...flow, platform }) };
}

function untilAborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => signal.addEventListener("abort", () => resolve()));
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
