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
  /** Only sessions with this memory, if one is named. */
  readonly owner?: MemoryOwner;
  /** How long one may take. */
  readonly timeoutMs?: number;
}

/** One that is slow must not hold up all others. */
const FLUSH_CONCURRENCY = 2;
const FLUSH_TIMEOUT_MS = 60_000;
const MAX_TOOL_CALLS = 8;

/**
 * What was said in sessions that were left is looked through, once, and what is worth it is remembered. Nothing is written
 * into the sessions themselves, in which their people may be talking on. What is cut off is begun once more by whoever
 * looks next.
 */
export async function flushMemory(flow: FlushContext, agent: Agent, signal: AbortSignal): Promise<void> {
  const { store, clock, runner, owner } = flow;
  const work = async (): Promise<void> => {
    while (!signal.aborted) {
      const named = owner === undefined ? {} : { owner };
      const flush = await store.memory.claimFlush({ runner, now: clock.now(), ...named });
      if (flush === undefined) return;
      await runFlush(flow, agent, flush, signal);
    }
  };
  const done = await Promise.allSettled(Array.from({ length: FLUSH_CONCURRENCY }, work));
  for (const one of done) if (one.status === "rejected") throw one.reason;
}

async function runFlush(flow: FlushContext, agent: Agent, flush: Flush, signal: AbortSignal): Promise<void> {
  const { store, clock, runner, log } = flow;
  const { enabled, flush: wanted } = flow.settings().memory;
  const about = { session: flush.session, flush: flush.number, attempt: flush.attempt };
  let changes: readonly MemoryChange[] = [];
  let usage: UsageDelta | undefined;
  const count = (more: UsageDelta): void => {
    usage = joinDeltas(usage, more);
  };
  // One that only repeats, or that others have written for a purpose, has no opinion of what is worth remembering.
  if (enabled && wanted && agent.canTitle) {
    try {
      changes = await findMemoryChanges(flow, agent, flush, count, signal);
    } catch (error) {
      log.warn({ ...about, error }, "a session could not be looked through for the memory");
    }
  }
  const used = usage === undefined ? {} : { usage };
  const recordAbandonedUsage = async (): Promise<void> => {
    if (usage === undefined) return;
    const session = { asker: SYSTEM, session: flush.session };
    await store.sessions.recordUsage({ ...session, purpose: "flush", usage, now: clock.now() });
  };
  // The next look begins it again.
  if (signal.aborted) return recordAbandonedUsage();
  const done = { flush: flush.number, runner, changes, ...used, now: clock.now() };
  const memory = await store.memory.finishFlush(done);
  if (isRefused(memory)) {
    await recordAbandonedUsage();
    log.warn({ ...about, reason: memory.reason }, "what was found came too late");
  } else
    log.info({ ...about, changes: changes.length, version: memory.version }, "a session was looked through");
}

async function findMemoryChanges(
  { store, timeoutMs = FLUSH_TIMEOUT_MS }: FlushContext,
  agent: Agent,
  { session, owner, upTo }: Flush,
  count: (usage: UsageDelta) => void,
  signal: AbortSignal,
): Promise<readonly MemoryChange[]> {
  const shown = (await store.messages.readHistory({ asker: SYSTEM, session })) ?? [];
  const memory = await store.memory.getMemory({ owner });
  const { tool, changes } = buildFlushTool(memory.entries);
  const history = buildFlushHistory(shown, { session, upTo, memory });
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
    // Nobody reads a reply, so an empty one is what was asked for.
    if (event.type === "failed" && event.empty !== true) throw new Error(event.reason);
    if (event.type === "approval") event.answer("deny");
    if (event.type !== "tool_call") continue;
    calls += 1;
    // What it wanted to do is not done, because nobody asks for the next event.
    if (calls > MAX_TOOL_CALLS) return changes;
  }
  if (until.aborted) throw new Error("It took too long.");
  return changes;
}

/** Looks for what is to be remembered, one look at a time. */
export interface Flusher {
  /** Soon, in the background. A look that is wanted while one is under way follows it. */
  trigger(): void;
  /** Resolves when nothing is being looked through any more. */
  close(): Promise<void>;
}

export function flusher(flow: FlushContext, agent: () => Agent): Flusher {
  const ending = new AbortController();
  let isWanted = false;
  let looking: Promise<void> | undefined;
  const look = async (): Promise<void> => {
    while (isWanted && !ending.signal.aborted) {
      isWanted = false;
      try {
        await flushMemory(flow, agent(), ending.signal);
      } catch (error) {
        flow.log.error({ error }, "the memory could not be told of what was said");
      }
    }
    looking = undefined;
  };
  return {
    trigger() {
      isWanted = true;
      looking ??= look();
    },
    async close() {
      ending.abort();
      await looking;
    },
  };
}
