import { describe, expect, it } from "vitest";
import { echo } from "../agents/echo.ts";
import { buildConfig } from "../apps/config/config.ts";
import type { Store } from "../ports/store.ts";
import { getDefaultSettings, resolveGatewayOptions } from "./gateway-options.ts";

const store = {} as Store;

describe("the options of a gateway", () => {
  it("have the defaults of a home without a configuration", () => {
    const { gateway } = buildConfig({ values: new Map(), fromFiles: new Map() }, () => "");
    const { platforms: _, ...configured } = gateway;
    expect(getDefaultSettings()).toEqual(configured);
  });

  it("take some settings, or a function that returns all of them", () => {
    const some = resolveGatewayOptions({ store, platforms: [], agent: echo, settings: { busy: "queue" } });
    expect(some.settings()).toEqual({ ...getDefaultSettings(), busy: "queue" });
    const all = { ...getDefaultSettings(), profile: "work" };
    const given = resolveGatewayOptions({ store, platforms: [], agent: () => echo, settings: () => all });
    expect(given.settings()).toBe(all);
    expect(given.agent({})).toBe(echo);
    expect(some.agent({})).toBe(echo);
  });

  it("log nothing and use the runner of this process by default", () => {
    const { log, runner, clock } = resolveGatewayOptions({ store, platforms: [], agent: echo });
    expect(() => log.error({}, "nobody reads this")).not.toThrow();
    expect(runner.pid).toBe(process.pid);
    expect(Math.abs(clock.now() - Date.now())).toBeLessThan(1000);
  });
});
