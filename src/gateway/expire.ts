import type { IdleConversation } from "../core/conversation.ts";
import type { GatewaySettings } from "../core/gateway-settings.ts";
import { SYSTEM } from "../core/owner.ts";
import { computeResetInstants } from "../core/reset-instants.ts";
import { resolveResetPolicy } from "../core/reset-policy.ts";
import { resetReason } from "../core/reset-reason.ts";
import type { Flow } from "./flow.ts";
import { scheduleFlushWithHook } from "./report-session-left.ts";

/** Only the process that holds this lease expires conversations. */
export const EXPIRY_LEASE = "expiry";
const PAGE = 200;
const DAY_MS = 86_400_000;
/** How long settled rows are kept. */
const RETENTION_MS = 30 * DAY_MS;
const PURGE_BATCH_SIZE = 500;
/** Several at once, so that a hook that is slow for one conversation does not delay all others. */
const EXPIRE_CONCURRENCY = 16;

export type ExpireContext = Pick<Flow, "store" | "clock" | "settings" | "hooks" | "log" | "signal">;

/** Ends the sessions of conversations that their reset policy has expired, and reports them to the hooks. */
export async function expireConversations(flow: ExpireContext): Promise<number> {
  const { store, clock } = flow;
  let ended = 0;
  let after: number | undefined;
  for (;;) {
    const now = clock.now();
    const before = findLatestDue(flow.settings(), now);
    if (before === undefined) return ended;
    const page = await store.conversations.listIdle({
      before,
      limit: PAGE,
      ...(after !== undefined && { after }),
    });
    const left = page.values();
    const expireNext = async (): Promise<void> => {
      for (const idle of left) {
        if (flow.signal.aborted) return;
        if (await endIfExpired(flow, idle, now)) ended += 1;
      }
    };
    await Promise.all(Array.from({ length: EXPIRE_CONCURRENCY }, expireNext));
    if (flow.signal.aborted) return ended;
    after = page.at(-1)?.conversation.number;
    if (page.length < PAGE) return ended;
  }
}

/** A conversation that was active after this has not expired by any policy. */
function findLatestDue({ reset, zone }: GatewaySettings, now: number): number | undefined {
  const policies = [reset.default, ...Object.values(reset.byType), ...Object.values(reset.byPlatform)];
  const instants = policies.flatMap((policy) => {
    const { idleBefore, dailyBefore } = computeResetInstants(policy, now, zone);
    return [idleBefore, dailyBefore].filter((instant) => instant !== undefined);
  });
  return instants.length === 0 ? undefined : Math.max(...instants);
}

async function endIfExpired(flow: ExpireContext, idle: IdleConversation, now: number): Promise<boolean> {
  const { store, hooks } = flow;
  const { zone, reset: settings } = flow.settings();
  const { conversation, platform, chatType } = idle;
  const policy = resolveResetPolicy(settings, platform, chatType);
  const reset = computeResetInstants(policy, now, zone);
  if (resetReason(conversation.activeAt, reset) === undefined) return false;
  const about = { platform, session: conversation.session, key: conversation.key };
  await scheduleFlushWithHook(flow, about);
  const done = await store.conversations.expireConversation({
    conversation: conversation.number,
    reset,
    now,
  });
  if (!done.expired) return false;
  flow.log.info({ ...about, reason: done.reason }, "a conversation expired");
  await hooks.emit("session:end", { ...about, reason: done.reason });
  return true;
}

/** Removes rows that were settled long ago, and old sessions of jobs and webhooks, never those of people. */
export async function purgeOldRows(flow: Flow): Promise<void> {
  const { store, clock } = flow;
  const now = clock.now();
  const before = now - RETENTION_MS;
  while (!flow.signal.aborted) {
    const { more } = await store.upkeep.purgeFinished({ before, limit: PURGE_BATCH_SIZE, now });
    if (!more) break;
  }
  await store.sessions.prune({
    asker: SYSTEM,
    before,
    kinds: ["job", "webhook"],
    dryRun: false,
    limit: PAGE,
    now,
  });
}
