import { mkdirSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeEach, describe, expect, it, onTestFinished, vi } from "vitest";
import { temporaryFolder } from "../../../test/support/folder.ts";
import { type Home, resolveHome } from "../home.ts";
import type { Config } from "./config.ts";
import { type OpenConfig, openConfig } from "./open-config.ts";

let home: Home;
let cwd: string;
let file: string;
let notices: string[];
let heard: (text: string) => void;

beforeEach(() => {
  const temporary = temporaryFolder();
  onTestFinished(() => temporary.remove());
  home = resolveHome({ POSTRIDER_HOME: join(temporary.path, "home") });
  cwd = join(temporary.path, "project");
  for (const folder of [home.folder, cwd]) mkdirSync(folder);
  file = join(home.folder, "config.yaml");
  notices = [];
  heard = () => {};
});

function open(environment: NodeJS.ProcessEnv = {}): OpenConfig {
  const notice = (text: string): void => {
    notices.push(text);
    heard(text);
  };
  const config = openConfig({ home, cwd, environment, settleMs: 20, notice });
  onTestFinished(() => config.close());
  return config;
}

/** Runs the change, and waits for the next notification of the listeners. */
function changeBy(config: OpenConfig, work: () => void): Promise<Config> {
  return new Promise((resolve) => {
    const stop = config.onChange((next) => {
      stop();
      resolve(next);
    });
    work();
  });
}

function noticeAfter(work: () => void): Promise<string> {
  return new Promise((resolve) => {
    heard = resolve;
    work();
  });
}

/** Replaces the file in one step, as careful programs do. */
function replaceBy(text: string): void {
  writeFileSync(`${file}.new`, text);
  renameSync(`${file}.new`, file);
}

describe("the configuration of a running process", () => {
  it("applies only after two equal reads", async () => {
    writeFileSync(file, "timezone: UTC\n");
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    onTestFinished(() => void vi.useRealTimers());
    const config = open();
    const zone = (): string => config.current().gateway.zone;
    writeFileSync(file, "timezone: Asia/Tokyo\n");
    while (vi.getTimerCount() === 0) await new Promise(setImmediate);
    vi.advanceTimersByTime(20);
    expect(zone()).toBe("UTC");
    while (zone() === "UTC") {
      vi.advanceTimersByTime(20);
      await new Promise(setImmediate);
    }
    expect(zone()).toBe("Asia/Tokyo");
  });

  it("follows a file that is created, overwritten, replaced and removed", async () => {
    const config = open();
    expect(config.current().gateway.busy).toBe("interrupt");
    const steps: readonly [work: () => void, busy: string][] = [
      [() => writeFileSync(file, "gateway: { busy: queue }\n"), "queue"],
      [() => replaceBy("gateway: { busy: collect }\n"), "collect"],
      [() => writeFileSync(file, "gateway: { busy: queue }\n"), "queue"],
      [() => rmSync(file), "interrupt"],
    ];
    for (const [work, busy] of steps) {
      const next = await changeBy(config, work);
      expect(next.gateway.busy).toBe(busy);
      expect(config.current()).toBe(next);
    }
    expect(notices).toEqual([]);
  });

  it("follows the project's file too, and the environment still overrides it", async () => {
    const config = open({ POSTRIDER_BUSY: "collect" });
    const next = await changeBy(config, () =>
      writeFileSync(join(cwd, "postrider.yaml"), "gateway: { busy: queue, turn_minutes: 5 }\n"),
    );
    expect(next.gateway).toMatchObject({ busy: "collect", turnMinutes: 5 });
  });

  it("keeps the last valid configuration while the file is broken, and reports each problem once", async () => {
    writeFileSync(file, "gateway: { busy: queue }\n");
    const config = open();
    const broken = "gateway: { busy: maybe }\nlog: { level: loud }\n";
    const first = await noticeAfter(() => replaceBy(broken));
    expect(first).toContain(`${file}:1: gateway.busy must be one of`);
    expect(first).toContain(`${file}:2: log.level must be one of`);
    expect(config.current().gateway.busy).toBe("queue");
    replaceBy(`${broken}# the same problems\n`);
    const second = await noticeAfter(() => replaceBy("gateway: { busy: [\n"));
    expect(second).toContain("is not YAML here");
    expect(notices).toHaveLength(2);
    const mended = await changeBy(config, () => replaceBy("gateway: { busy: collect }\n"));
    expect(mended.gateway.busy).toBe("collect");
    // A problem that was fixed and occurs again is reported again.
    expect(await noticeAfter(() => replaceBy(broken))).toBe(first);
  });

  it("ignores a file while it is being written", async () => {
    writeFileSync(file, "access: { allow: [1] }\n");
    const config = open();
    const seen: unknown[] = [];
    config.onChange(({ gateway }) => seen.push(gateway.access.everywhere.allow));
    await changeBy(config, () => {
      writeFileSync(file, "");
      setTimeout(() => writeFileSync(file, "access: { allow: [1, 2] }\n"), 10);
    });
    expect(seen).toEqual([["1", "2"]]);
  });

  it("reports nothing when only a comment changes", async () => {
    writeFileSync(file, "gateway: { busy: queue }\n");
    const config = open();
    const seen: string[] = [];
    config.onChange(({ gateway }) => seen.push(gateway.busy));
    // The notice about the project's file shows that both files were read again.
    await noticeAfter(() => {
      replaceBy("# quiet\ngateway: { busy: queue }\n");
      writeFileSync(join(cwd, "postrider.yaml"), "tools: 1\n");
    });
    await changeBy(config, () => replaceBy("gateway: { busy: collect }\n"));
    expect(seen).toEqual(["collect"]);
  });

  it("does not start with a broken file, and reports nothing after it is closed", async () => {
    writeFileSync(file, "gateway: 1\n");
    expect(() => open()).toThrow(expect.objectContaining({ code: "invalid_config" }));
    writeFileSync(file, "");
    const [closed, witness] = [open(), open()];
    closed.onChange(() => notices.push("changed"));
    closed.close();
    await changeBy(witness, () => writeFileSync(file, "gateway: { busy: queue }\n"));
    expect(notices).toEqual([]);
  });
});
