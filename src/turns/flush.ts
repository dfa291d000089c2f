import type { GatewaySettings } from "../core/gateway-settings.ts";
import type { Flush, MemoryChange, MemoryOwner } from "../core/memory.ts";
import { SYSTEM } from "../core/owner.ts";
import { isRefused } from "../core/refusal.ts";
import { joinDeltas, type UsageDelta } from "../core/usage.ts";
import type { Agent } from "../ports/agent.ts";
import type { Clock } from "../ports/clock.ts";
import type { Log } from "../ports/log.ts";
import type { Store } from "../ports/store.ts";
import { buildFlushHistory } from "./flush-request.ts";
import { buildFlushTool } from "./flush-tool.ts";
import { findChosenModel } from "./propose-title.ts";
import { readEventsUntil } from "./read-events-until.ts";

export interface FlushContext {
  readonly store: Store;
  readonly clock: Clock;
  readonly runner: string;
  readonly log: Log;
  settings(): Pick<GatewaySettings, "memory">;
  /** Flushes only sessions with this memory. */
  readonly owner?: MemoryOwner;
  /** The time limit of one flush. */
  readonly timeoutMs?: number;
}

/** A slow flush must not delay all others. */
const FLUSH_CONCURRENCY = 2;
const FLUSH_TIMEOUT_MS = 60_000;
const MAX_TOOL_CALLS = 8;

/**
 * Reads each session that its chat left, once, and stores facts from it in the memory. It writes nothing into the session,
 * which may be in use again. The next call repeats an interrupted flush.
 */
export async function flushMemory(context: FlushContext, agent: Agent, signal: AbortSignal): Promise<void> {
  const { store, clock, runner, owner } = context;
  const work = async (): Promise<void> => {
    while (!signal.aborted) {
      const filter = owner === undefined ? {} : { owner };
      const flush = await store.memory.claimFlush({ runner, now: clock.now(), ...filter });
      if (flush === undefined) return;
      await runFlush(context, agent, flush, signal);
    }
  };
  const done = await Promise.allSettled(Array.from({ length: FLUSH_CONCURRENCY }, work));
  for (const one of done) if (one.status === "rejected") throw one.reason;
}

async function runFlush(
  context: FlushContext,
  agent: Agent,
  flush: Flush,
  signal: AbortSignal,
): Promise<void> {
  const { store, clock, runner, log } = context;
  const { enabled, flush: canFlush } = context.settings().memory;
  const about = { session: flush.session, flush: flush.number, attempt: flush.attempt };
  let changes: readonly MemoryChange[] = [];
  let usage: UsageDelta | undefined;
  const count = (more: UsageDelta): void => {
    usage = joinDeltas(usage, more);
  };
  // The agents `echo` and `script` cannot select facts.
  if (enabled && canFlush && agent.canTitle) {
    try {
      changes = await findMemoryChanges(context, agent, flush, count, signal);
    } catch (error) {
      log.warn({ ...about, error }, "the flush of a session failed");
    }
  }
  const used = usage === undefined ? {} : { usage };
  const recordAbandonedUsage = async (): Promise<void> => {
    if (usage === undefined) return;
    const session = { asker: SYSTEM, session: flush.session };
    await store.sessions.recordUsage({ ...session, purpose: "flush", usage, now: clock.now() });
  };
  // The next flush repeats it.
  if (signal.aborted) return recordAbandonedUsage();
  const done = { flush: flush.number, runner, changes, ...used, now: clock.now() };
  const memory = await store.memory.finishFlush(done);
  if (isRefused(memory)) {
    await recordAbandonedUsage();
    log.warn({ ...about, reason: memory.reason }, "the store refused the result of a flush");
  } else log.info({ ...about, changes: changes.length, version: memory.version }, "a session was flushed");
}

async function findMemoryChanges(
  { store, timeoutMs = FLUSH_TIMEOUT_MS }: FlushContext,
  agent: Agent,
  { session, owner, upTo }: Flush,
  count: (usage: UsageDelta) => void,
  signal: AbortSignal,
): Promise<readonly MemoryChange[]> {
  const messages = (await store.messages.readHistory({ asker: SYSTEM, session })) ?? [];
  const memory = await store.memory.getMemory({ owner });
  const { tool, changes } = buildFlushTool(memory.entries);
  const history = buildFlushHistory(messages, { session, upTo, memory });
  if (history.length < 2) return [];
  const until = AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)]);
  const model = await findChosenModel(store, session);
  const turn = {
    session,
    history,
    tools: [tool],
    blob: async () => undefined,
    ...(model !== undefined && { model }),
  };
  let calls = 0;
  for await (const event of readEventsUntil(until, agent.run(turn, until))) {
    if (event.type === "usage") count(event.usage);
    // Nobody reads the reply, so an empty one is fine.
    if (event.type === "failed" && event.empty !== true) throw new Error(event.reason);
    if (event.type === "approval") event.answer("deny");
    if (event.type !== "tool_call") continue;
    calls += 1;
    // The tool runs only when the next event is read, so it does not run.
    if (calls > MAX_TOOL_CALLS) return changes;
  }
  if (until.aborted) throw new Error("It took too long.");
  return changes;
}

/** Flushes in the background, one run at a time. */
export interface Flusher {
  /** Starts a run, or another one after the current one. */
  trigger(): void;
  /** Resolves when no flush runs. */
  close(): Promise<void>;
}

export function flusher(context: FlushContext, agent: () => Agent): Flusher {
  const ending = new AbortController();
  let isDue = false;
  let running: Promise<void> | undefined;
  const run = async (): Promise<void> => {
    while (isDue && !ending.signal.aborted) {
      isDue = false;
      try {
        await flushMemory(context, agent(), ending.signal);
      } catch (error) {
        context.log.error({ error }, "flushing sessions failed");
      }
    }
    running = undefined;
  };
  return {
    trigger() {
      isDue = true;
      running ??= run();
    },
    async close() {
      ending.abort();
      await running;
    },
  };
}
