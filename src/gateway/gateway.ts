import { toChatCommand } from "../commands/custom-command.ts";
import { PostriderError } from "../core/errors.ts";
import { getTakeMode } from "../core/gateway-settings.ts";
import { SYSTEM } from "../core/owner.ts";
import { HEARTBEAT_MS, RUNNER_DEAD_MS } from "../core/runner.ts";
import { createSessions } from "../sessions/sessions.ts";
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
   * Takes in nothing more, lets the answers that are being written come to their end for a while, sends what is ready and
   * leaves the rest, stored, for the next start.
   */
  stop(): Promise<void>;
  /** Resolves when it has stopped; rejects when another process has taken a connection over, or the store is gone. */
  readonly ended: Promise<void>;
}

const RECOVER_EVERY_MS = 5000;
const EXPIRE_EVERY_MS = 60_000;
/** Rarely, because after an outage thousands may wait, and all of them are read. */
const RESCAN_EVERY_MS = 60_000;
/** What others have stored to be sent is looked for this soon after a change. */
const POLL_DELAY_MS = 250;
/** What is told now and then of programs that run is told no more than this late. */
const WATCH_EVERY_MS = 5000;
/** How long answers may still take when the gateway is told to end. */
const GRACE_MS = 20_000;

/** The flow as a running program. Rejects with `in_use` when another process holds one of the connections. */
export async function startGateway(given: GatewayOptions): Promise<Gateway> {
  const options = resolveGatewayOptions(given);
  const { store, clock, log, platforms } = options;
  const runner = options.runner.id;
  await store.runners.recordHeartbeat({ runner: options.runner, now: clock.now() });
  const held = await leaseAll(options);
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
      if (event.type === "broken")
        log.error({ session: event.session, error: event.error }, "a turn is broken");
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
    const mayStart = (): boolean => held[index]?.canSend() ?? false;
    connections.set(platform.name, {
      platform,
      outbox: outbox({ store, platform, runner, clock, log, canSend: mayStart }),
    });
  });

  // First what was left behind: an answer from before comes before an answer to what arrives now.
  await recover(flow);
  const running = platforms.flatMap((platform, index) => {
    const connected = connections.get(platform.name);
    const connection = held[index];
    if (connected === undefined || connection === undefined) return [];
    return [stayConnected(flow, connected, connection, receiving.signal)];
  });

  let fail: (error: unknown) => void = () => {};
  const taken = new Promise<never>((_, reject) => {
    fail = reject;
  });
  taken.catch(() => {});
  const processes = watchProcesses(flow);
  const limitActivity = activityLimiter(flow);
  const timers = [
    every(HEARTBEAT_MS, async () => {
      await store.runners.recordHeartbeat({ runner: options.runner, now: clock.now() });
      for (const connection of held) {
        if (!(await connection.renew())) fail(createTakenOverError(connection.name));
      }
    }),
    every(RECOVER_EVERY_MS, () => recover(flow)),
    every(RESCAN_EVERY_MS, () => lookForDeliveries(0)),
    every(WATCH_EVERY_MS, () => processes.poll()),
    every(EXPIRE_EVERY_MS, async () => {
      const mine = { name: EXPIRY_LEASE, runner, ttlMs: RUNNER_DEAD_MS + EXPIRE_EVERY_MS, now: clock.now() };
      memory.trigger();
      if ((await store.runners.acquireLease(mine)) === undefined) return;
      await limitActivity();
      await expireConversations(flow);
      await purgeOldRows(flow);
    }),
  ];
  const unlisten = [
    store.onChange(debounce(POLL_DELAY_MS, () => lookForDeliveries(), ending.signal)),
    store.onChange(debounce(POLL_DELAY_MS, () => processes.poll(), ending.signal)),
  ];
  // What ended while nobody ran the gateway.
  runInBackground(log, "a look at programs", processes.poll());
  memory.trigger();
  // A store may begin slowly with what it is asked for first: nobody's first /status or /stop has to wait for that.
  runInBackground(log, "a first look", store.sessions.getDiagnostics({ asker: SYSTEM, session: "none" }));
  runInBackground(log, "a hook", flow.hooks.emit("gateway:startup", { platforms: flow.platforms }));
  log.info({ platforms: flow.platforms, runner }, "the gateway runs");

  function every(ms: number, work: () => Promise<unknown>): NodeJS.Timeout {
    let isBusy = false;
    return setInterval(() => {
      if (isBusy || ending.signal.aborted) return;
      isBusy = true;
      runInBackground(
        log,
        "what is done now and then",
        work()
          .catch((error: unknown) => {
            if (isStoreClosed(error)) fail(error);
            throw error;
          })
          .finally(() => {
            isBusy = false;
          }),
      );
    }, ms);
  }

  async function lookForDeliveries(back?: number): Promise<void> {
    for (const connected of connections.values()) await connected.outbox.poll(back);
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
    timers.forEach(clearInterval);
    for (const { outbox: out } of connections.values()) await out.close();
    for (const connection of held) await connection.release();
    await store.runners.releaseLease({ name: EXPIRY_LEASE, runner });
    await store.runners.retire({ runner });
    log.info({}, "the gateway has stopped");
  }
  const stopOnce = (): Promise<void> => {
    stopping ??= stop();
    return stopping;
  };
  const stopped = Promise.race([taken, Promise.all(running)]).then(
    () => stopOnce(),
    async (error: unknown) => {
      log.error({ error }, "the gateway has to end");
      await stopOnce().catch(() => {}); // why it has to end is what counts
      throw error;
    },
  );
  stopped.catch(() => {}); // whoever waits for the end meets it
  return { stop: stopOnce, ended: stopped };
}

/** All of them, or none: with who has those that are not to be had. */
async function leaseAll(options: ResolvedGatewayOptions): Promise<readonly LeasedConnection[]> {
  const { store, clock, platforms } = options;
  const held: LeasedConnection[] = [];
  const missing: string[] = [];
  for (const platform of platforms) {
    const connection = await leaseConnection({ store, clock, runner: options.runner.id }, platform);
    if (connection === undefined) missing.push(buildConnectionName(platform));
    else held.push(connection);
  }
  if (missing.length === 0) return held;
  for (const connection of held) await connection.release();
  await store.runners.retire({ runner: options.runner.id });
  const holders = (await store.runners.listLeases({ now: clock.now() })).filter(({ name }) =>
    missing.includes(name),
  );
  const who = holders
    .map(({ name, runner: { pid, host } }) => `${name} (process ${pid} on ${host})`)
    .join(", ");
  throw new PostriderError(
    "in_use",
    `Another gateway runs already and holds ${who || missing.join(", ")}. postrider gateway stop ends it.`,
    { details: { leases: missing } },
  );
}

function createTakenOverError(name: string): PostriderError {
  return new PostriderError("in_use", `Another gateway has taken over ${name}, so this one ends.`);
}

/** Calls it a little later, once for however many changes there were. */
function debounce(ms: number, work: () => Promise<void>, signal: AbortSignal): () => void {
  let timer: NodeJS.Timeout | undefined;
  return () => {
    if (timer !== undefined || signal.aborted) return;
    timer = setTimeout(() => {
      timer = undefined;
      if (!signal.aborted) work().catch(() => {}); // the next round looks again
    }, ms);
  };
}
