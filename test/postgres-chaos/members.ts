import { setTimeout as wait } from "node:timers/promises";
import type { ChildLine } from "../gateway/gateway-process.ts";
import { type Child, startChild } from "../support/child.ts";
import type { PostgresServer } from "../support/postgres-server.ts";
import { startTcpProxy, type TcpProxy } from "../support/tcp-proxy.ts";
import type { MemberLine, MemberOptions, MemberOrder } from "./member.ts";
import type { InterruptedSend, TurnEvent } from "./verdict.ts";

/** One of the gateways, in one process after the other. */
export interface Member {
  readonly name: string;
  readonly proxy: TcpProxy;
  /** Whether a moment uses it. */
  isBusy: boolean;
  tell(order: MemberOrder): void;
  /** The next line that matches; `undefined` if there is none in time. */
  hears(fits: (line: MemberLine) => boolean, ms: number): Promise<MemberLine | undefined>;
  /** Kills the process, or waits until it kills itself, and starts another. */
  kill(after?: { readonly ms: number; readonly downMs: number }): Promise<void>;
  /** Stops the process by SIGSTOP while `meanwhile` runs. */
  stop(meanwhile: () => Promise<void>): Promise<void>;
  /** Its running turns. */
  countTurns(): number;
  /** The messengers that it has connected to since it started or was taken over. */
  countConnections(): number;
}

export interface Members {
  readonly all: readonly Member[];
  readonly server: PostgresServer;
  readonly turns: readonly TurnEvent[];
  readonly interruptedSends: readonly InterruptedSend[];
  readonly kills: number;
  readonly inFlight: number;
  readonly connections: number;
  /** Processes that ended by themselves, unexpected log entries, and moments that failed. */
  readonly errors: string[];
  /** By member. */
  readonly logs: ReadonlyMap<string, readonly string[]>;
  /** Counts a moment that hits these. */
  hit(members: readonly Member[]): void;
  /** Ends all difficulties. */
  calm(): void;
  end(): Promise<void>;
}

export interface MembersOptions extends Pick<MemberOptions, "messengers" | "effects"> {
  readonly server: PostgresServer;
  readonly schema: string;
}

/** The first two are on one machine. */
const HOSTS = ["host-1", "host-1", "host-2"];
const START_MS = 60_000;

/** Errors that a gateway logs, and overcomes, when its database or messenger fails, or it was taken over and stops. */
const EXPECTED =
  /"(?:store_unavailable|busy|stale_fence|in_use|platform_down|closed: PostriderError: Turn \d+ was handed over)/;

export async function startMembers(options: MembersOptions): Promise<Members> {
  const { server, schema, messengers, effects } = options;
  const turns: TurnEvent[] = [];
  const interruptedSends: InterruptedSend[] = [];
  const errors: string[] = [];
  const logs = new Map<string, string[]>();
  const counts = { kills: 0, inFlight: 0, connections: 0 };
  let isOver = false;

  function openMember(name: string, host: string, proxy: TcpProxy): Member & { end(): Promise<void> } {
    const url = new URL(server.url);
    url.port = String(proxy.port);
    const given: MemberOptions = { host, store: { url: url.href, schema }, messengers, effects };
    const log: string[] = [];
    logs.set(name, log);
    const listeners = new Set<(line: MemberLine) => void>();
    const running = new Set<number>();
    const connected = new Set<string>();
    /** The nonces of the messages that are being sent. */
    const sends = new Set<string>();
    let isKilled = false;
    let child = launch();

    function launch(): Child {
      isKilled = false;
      const started = startChild(
        new URL("./child.ts", import.meta.url),
        [JSON.stringify(given)],
        undefined,
        take,
      );
      void started.ended.then(({ code, signal }) => {
        running.clear();
        sends.clear();
        connected.clear();
        if (isOver || isKilled) return;
        errors.push(`${name} ended by itself with ${signal ?? code}: ${log.at(-1)}`);
        child = launch();
      });
      return started;
    }

    function take(text: unknown): void {
      const line = text as MemberLine | ChildLine;
      if ("level" in line || "failed" in line) {
        log.push(`${new Date().toISOString()} ${JSON.stringify(line)}`);
        if ("level" in line && line.level === "error" && !EXPECTED.test(JSON.stringify(line)))
          errors.push(`${name}: ${line.words}: ${JSON.stringify(line.fields).slice(0, 400)}`);
        return;
      }
      if ("closed" in line || "ready" in line) return;
      if ("running" in line) connected.clear();
      if ("connected" in line) {
        counts.connections += 1;
        connected.add(line.connected);
      }
      if ("sending" in line) sends.add(line.sending);
      if ("sent" in line) sends.delete(line.sent);
      if ("state" in line) {
        turns.push({ member: name, turn: line.turn, fence: line.fence, state: line.state });
        if (line.state === "started") running.add(line.turn);
        else running.delete(line.turn);
      }
      for (const listener of [...listeners]) listener(line);
    }

    const hears: Member["hears"] = async (fits, ms) => {
      const { promise, resolve } = Promise.withResolvers<MemberLine | undefined>();
      const listener = (line: MemberLine): void => {
        if (fits(line)) resolve(line);
      };
      listeners.add(listener);
      const timer = setTimeout(resolve, ms, undefined);
      const heard = await promise;
      clearTimeout(timer);
      listeners.delete(listener);
      return heard;
    };

    const member: Member & { end(): Promise<void> } = {
      name,
      proxy,
      isBusy: false,
      tell: (order) => child.tell(order),
      hears,
      async kill(after = { ms: 0, downMs: 0 }) {
        isKilled = true;
        const { ended, process } = child;
        await Promise.race([ended, wait(after.ms)]);
        hit([member]);
        counts.kills += 1;
        process.kill("SIGKILL");
        await ended;
        await wait(after.downMs);
        const isRunning = hears((line) => "running" in line, START_MS);
        child = launch();
        if ((await isRunning) === undefined) throw new Error(`${name} did not start within ${START_MS} ms`);
      },
      async stop(meanwhile) {
        hit([member]);
        const { process } = child;
        process.kill("SIGSTOP");
        try {
          await meanwhile();
        } finally {
          // All lines from before the stop have been read by now.
          const continuedAt = Date.now();
          interruptedSends.push(...[...sends].map((nonce) => ({ nonce, continuedAt })));
          process.kill("SIGCONT");
        }
      },
      countTurns: () => running.size,
      countConnections: () => connected.size,
      async end() {
        isKilled = true;
        child.process.kill("SIGKILL");
        await child.ended;
        await proxy.close();
      },
    };
    return member;
  }

  function hit(members: readonly Member[]): void {
    if (members.some((member) => member.countTurns() > 0)) counts.inFlight += 1;
  }

  const all: (Member & { end(): Promise<void> })[] = [];
  for (const [at, host] of HOSTS.entries())
    all.push(openMember(`gateway-${at + 1}`, host, await startTcpProxy(server.port)));
  const started = all.map((member) => member.hears((line) => "running" in line, START_MS));
  if ((await Promise.all(started)).includes(undefined))
    errors.push(`not all gateways started within ${START_MS} ms`);
  return {
    all,
    server,
    turns,
    interruptedSends,
    errors,
    logs,
    get kills() {
      return counts.kills;
    },
    get inFlight() {
      return counts.inFlight;
    },
    get connections() {
      return counts.connections;
    },
    hit,
    calm() {
      for (const { proxy, tell } of all) {
        proxy.delay(0);
        tell({ aheadMs: 0 });
        tell({ release: true });
      }
    },
    async end() {
      isOver = true;
      await Promise.all(all.map((member) => member.end()));
    },
  };
}
