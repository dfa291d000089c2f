import { createInterface } from "node:readline";
import { standByAgain } from "../../src/apps/stand-by-again.ts";
import { PostriderError } from "../../src/core/errors.ts";
import type { PlatformTraits } from "../../src/core/platforms.ts";
import { isRefused } from "../../src/core/refusal.ts";
import type { Finish, Finished, Turn } from "../../src/core/turn.ts";
import { type Gateway, startGateway } from "../../src/gateway/gateway.ts";
import { localRunner, systemClock } from "../../src/index.ts";
import type { Agent } from "../../src/ports/agent.ts";
import type { Platform } from "../../src/ports/platform.ts";
import type { Store } from "../../src/ports/store.ts";
import { openPostgresStore } from "../../src/stores/postgres/store.ts";
import { errandAgent } from "../gateway/errand-agent.ts";
import { fakePlatform } from "../gateway/fake-platform.ts";
import { ended, OPEN_SETTINGS, printed } from "../gateway/gateway-process.ts";
import { type Hit, killSwitch, watchAgent, watchPlatform, watchStore } from "../gateway/kill-switch.ts";
import { endWithParent, say } from "../support/child.ts";
import { wrapStore } from "../support/wrap-store.ts";
import { SHORTENED } from "./short-times.ts";

export interface MemberOptions {
  /** The name of its machine. Gateways on one machine see at once when a process of the other has ended. */
  readonly host: string;
  readonly store: { readonly url: string; readonly schema: string };
  readonly messengers: readonly MessengerAccess[];
  readonly effects: { readonly url: string; readonly headers: Readonly<Record<string, string>> };
}

export interface MessengerAccess {
  readonly name: string;
  readonly url: string;
  readonly token: string;
  readonly outbound: PlatformTraits["outbound"];
}

/** The lines that it reads. */
export type MemberOrder =
  /** The error of its system clock from now on. */
  | { readonly aheadMs: number }
  /** Crashes at this point; see `killSwitch`. */
  | { readonly killAt: string }
  /** The next turn that reaches this point reports it, and waits there for `release`. */
  | { readonly hold: HoldPoint; readonly id: number }
  /** No turn waits any more, and none is to wait. */
  | { readonly release: true };

/** After the agent has ended; later, before the end is stored; after the attempt to send a message was stored. */
export type HoldPoint = "agent" | "finish" | "send";

/** What happened to a turn: `refused` is an end of a turn that another gateway has taken over. */
export type TurnState = "started" | "finished" | "refused";

/** The lines that it prints, besides those of the log. */
export type MemberLine =
  | { readonly running: true }
  | { readonly connected: string }
  | { readonly held: number; readonly turn: number | undefined }
  | { readonly turn: number; readonly fence: number; readonly state: TurnState }
  /** A write that the store refused because another gateway has taken the work over. */
  | { readonly stale: string }
  /** The nonce of a message, before the request to the messenger and after its end. */
  | { readonly sending: string }
  | { readonly sent: string };

/** Runs a gateway as `postrider gateway run` does on a shared store: after a take-over it stands by again. */
export async function runMember(options: MemberOptions): Promise<void> {
  endWithParent();
  const orders = followOrders();
  const { hit } = orders;
  const sessions = new Map<string, number>();
  const store = watchTurns(watchStore(await openStore(options), hit), orders, sessions);
  const errands = watchAgent(errandAgent({ effects: options.effects, hit }), hit);
  const agent: Agent = {
    ...errands,
    async *run(request, signal) {
      yield* errands.run(request, signal);
      await orders.hold("agent", sessions.get(request.session));
    },
  };
  const platforms = options.messengers.map((messenger) => watchSends(fakePlatform(messenger), hit));
  const log = printed();
  const start = async (): Promise<{ readonly gateway: Gateway; readonly runner: string }> => {
    const runner = localRunner();
    const gateway = await startGateway({
      store,
      runner,
      clock: { ...systemClock, now: () => Date.now() + orders.aheadMs() },
      platforms,
      settings: () => OPEN_SETTINGS,
      agent: () => agent,
      log,
      standby: true,
    });
    say({ running: true } satisfies MemberLine);
    return { gateway, runner: runner.id };
  };
  const { signal } = new AbortController();
  let started = await start().catch(ended);
  for (;;) {
    const error: unknown = await started.gateway.ended.catch((reason: unknown) => reason);
    if (!(error instanceof PostriderError) || error.code !== "in_use")
      ended(error ?? new Error("the gateway ended without an error"));
    await started.gateway.stop().catch(() => {}); // `ended` has reported the reason
    started = await standByAgain({ store, log, formerRunner: started.runner, start, signal }).catch(ended);
  }
}

interface Orders {
  aheadMs(): number;
  readonly hit: Hit;
  hold(point: HoldPoint, turn: number | undefined): Promise<void>;
}

function followOrders(): Orders {
  let aheadMs = 0;
  let kill: Hit = killSwitch(undefined);
  let held: { readonly point: HoldPoint; readonly id: number } | undefined;
  let release = (): void => {};
  createInterface({ input: process.stdin }).on("line", (line) => {
    const order = JSON.parse(line) as MemberOrder;
    if ("aheadMs" in order) aheadMs = order.aheadMs;
    else if ("killAt" in order) kill = killSwitch(order.killAt);
    else if ("hold" in order) held = { point: order.hold, id: order.id };
    else {
      held = undefined;
      release();
    }
  });
  return {
    aheadMs: () => aheadMs,
    hit: (point) => kill(point),
    async hold(point, turn) {
      if (point !== held?.point) return;
      const { id } = held;
      held = undefined;
      await new Promise<void>((resolve) => {
        release = resolve;
        say({ held: id, turn } satisfies MemberLine);
      });
    },
  };
}

const OPEN_RETRY_MS = 500;

/** Like the product, it waits for a database that starts at the same time. */
async function openStore({ store }: MemberOptions): Promise<Store> {
  for (;;) {
    try {
      return await openPostgresStore({
        ...store,
        statementTimeoutMs: 30_000 / SHORTENED,
        lockTimeoutMs: 15_000 / SHORTENED,
        retryMs: 30_000 / SHORTENED,
      });
    } catch (error) {
      if (!(error instanceof PostriderError) || error.code !== "store_unavailable") throw error;
      await new Promise((resolve) => setTimeout(resolve, OPEN_RETRY_MS));
    }
  }
}

/** Reports the turns that this process starts and ends, and the writes that are refused. */
function watchTurns(store: Store, orders: Orders, sessions: Map<string, number>): Store {
  const start = (turn: Turn | undefined): void => {
    if (turn === undefined) return;
    sessions.set(turn.session, turn.number);
    const { number, fence } = turn;
    say({ turn: number, fence, state: "started" } satisfies MemberLine);
  };
  return wrapStore(store, async ({ name, input, run }) => {
    const end = name === "finish" ? (input as Finish) : undefined;
    const report = (state: TurnState): void => {
      if (end !== undefined) say({ turn: end.turn, fence: end.fence, state } satisfies MemberLine);
    };
    if (end !== undefined) await orders.hold("finish", end.turn);
    const result = await run();
    if (name === "beginDelivery" && result !== undefined) await orders.hold("send", undefined);
    if (isRefused(result)) {
      if (result.refused !== "stale_fence") return result;
      say({ stale: name } satisfies MemberLine);
      report("refused");
      return result;
    }
    report("finished");
    if (name === "accept") start((result as { readonly turn?: Turn }).turn);
    else if (name === "finish") start((result as Finished).next);
    else if (name === "claim") start(result as Turn | undefined);
    return result;
  });
}

function watchSends(platform: Platform, hit: Hit): Platform {
  const { name } = platform;
  const watched = watchPlatform(platform, hit, () => say({ connected: name } satisfies MemberLine));
  return {
    ...watched,
    async send(out, signal) {
      say({ sending: out.nonce } satisfies MemberLine);
      const outcome = await watched.send(out, signal);
      say({ sent: out.nonce } satisfies MemberLine);
      return outcome;
    },
  };
}
