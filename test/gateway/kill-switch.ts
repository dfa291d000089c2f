import { setTimeout as wait } from "node:timers/promises";
import type { Agent, AgentEvent } from "../../src/ports/agent.ts";
import type { Platform } from "../../src/ports/platform.ts";
import type { Store } from "../../src/ports/store.ts";
import { wrapStore } from "../support/wrap-store.ts";

/** Called at every named point of the flow. Its result is awaited around calls of the ports. */
export type Hit = (point: string) => void | Promise<void>;

/**
 * Kills this process the n-th time that a point is reached: `finish:before`, `send:after:2`. A point is a method of the
 * store, `send` or `edit` of the platform, with `before` or `after`; or `agent:before`, `agent:during` (after the first
 * text), `agent:after`, `tool:before`, `tool:acted`, `tool:after`. `slow` names a point with a delay in milliseconds:
 * `finish:after:400`.
 */
export function killSwitch(at: string | undefined, slow?: string): Hit {
  const [name = "", moment = "", count = "1"] = at?.split(":") ?? [];
  const [slowName = "", slowMoment = "", slowMs = "0"] = slow?.split(":") ?? [];
  let left = Number(count);
  return (point) => {
    if (point === `${name}:${moment}`) {
      left -= 1;
      if (left === 0) process.kill(process.pid, "SIGKILL");
    }
    return point === `${slowName}:${slowMoment}` ? wait(Number(slowMs)) : undefined;
  };
}

/** The same store, with a point before and after each call. */
export function watchStore(store: Store, hit: Hit): Store {
  return wrapStore(store, async ({ name, run }) => {
    await hit(`${name}:before`);
    const result = await run();
    await hit(`${name}:after`);
    return result;
  });
}

/** The same platform, with points around sending; `ready` is called when it is connected. */
export function watchPlatform(platform: Platform, hit: Hit, ready: () => void): Platform {
  const calls = watched(platform, hit, (name) => name === "send" || name === "edit" || name === "lookUp");
  return {
    ...calls,
    run: (receiver, signal) =>
      platform.run(
        {
          ...receiver,
          markConnected() {
            receiver.markConnected();
            ready();
          },
        },
        signal,
      ),
  };
}

/** The same agent, with points in its stream. The agent itself calls those of tools. */
export function watchAgent(agent: Agent, hit: Hit): Agent {
  return {
    ...agent,
    async *run(turn, signal): AsyncGenerator<AgentEvent> {
      await hit("agent:before");
      let hasSpoken = false;
      for await (const event of agent.run(turn, signal)) {
        yield event;
        if (event.type === "text" && !hasSpoken) await hit("agent:during");
        hasSpoken ||= event.type === "text";
      }
      await hit("agent:after");
    },
  };
}

function watched<T extends object>(port: T, hit: Hit, isWatched: (name: string) => boolean): T {
  const entries = Object.entries(port).map(([name, value]: [string, unknown]) => {
    if (typeof value !== "function" || !isWatched(name)) return [name, value];
    const call = value.bind(port) as (...given: unknown[]) => Promise<unknown>;
    const around = async (...given: unknown[]): Promise<unknown> => {
      await hit(`${name}:before`);
      const result = await call(...given);
      await hit(`${name}:after`);
      return result;
    };
    return [name, around];
  });
  return Object.fromEntries(entries) as T;
}
