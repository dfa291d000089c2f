import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, describe, expect, it, onTestFinished, vi } from "vitest";
import { composeGateway } from "../src/apps/compose-gateway.ts";
import { openConfig } from "../src/apps/config/open-config.ts";
import { makeHome, resolveHome } from "../src/apps/home.ts";
import { openLog } from "../src/apps/log/open-log.ts";
import { HEARTBEAT_MS } from "../src/core/runner.ts";
import { sqliteStore } from "../src/stores/sqlite/store.ts";
import { localRunner } from "../src/system/local-runner.ts";
import { startFakeTelegram } from "../src/testing/fake-telegram/index.ts";
import { temporaryFolder } from "./support/folder.ts";
import { gatewayScene, SECRET, TOKEN } from "./support/gateway-program.ts";

afterEach(() => void vi.useRealTimers());

/** A complete gateway in this process, for a home with a configuration file. */
async function start() {
  const folder = temporaryFolder();
  onTestFinished(() => folder.remove());
  const fake = await startFakeTelegram({ accounts: [{ token: TOKEN, username: "fake_bot" }] });
  onTestFinished(() => fake.close());
  const environment = {
    POSTRIDER_HOME: join(folder.path, "home"),
    TELEGRAM_API_ROOT: fake.url,
    TELEGRAM_BOT_TOKEN: TOKEN,
  };
  const home = resolveHome(environment);
  makeHome(home);
  const configure = (model: string): void =>
    writeFileSync(join(home.folder, "config.yaml"), `model:\n  base_url: http://127.0.0.1:9/v1\n${model}`, {
      mode: 0o600,
    });
  configure("  name: first\n");
  const lines: string[] = [];
  const log = openLog({ home, level: "info", show: { write: (line) => lines.push(line) } });
  const place = { home, cwd: folder.path, environment };
  const config = openConfig({ ...place, notice: () => {}, settleMs: 20 });
  const gateway = await composeGateway({ home, environment, config, log });
  onTestFinished(async () => {
    await gateway.stop().catch(() => {}); // a gateway that had to end has already reported it
    config.close();
    log.close();
  });
  return { home, gateway, configure, log, lines };
}

describe("a running gateway", () => {
  it("uses a model that is configured at run time, and masks its key in the log", async () => {
    const { configure, log, lines, gateway } = await start();
    expect(gateway.agent).toBe("first");
    const key = "a-key-that-nobody-may-read-4711";
    configure(`  name: second\n  api_key: ${key}\n`);
    await vi.waitFor(() => expect(lines.join("")).toMatch(/"agent":"second".*the agent changed/), 10_000);
    log.warn({}, `the key is ${key}`);
    expect(lines.at(-1)).toContain("the key is");
    expect(lines.join("")).not.toContain(key);
  });

  it("ends with its next heartbeat when another gateway has taken over the home", async () => {
    vi.useFakeTimers({ toFake: ["setInterval"] });
    const { home, gateway } = await start();
    const ended = gateway.ended.catch((error: unknown) => error);
    const store = await sqliteStore({ file: home.database, mode: "in-process" });
    onTestFinished(() => store.close());
    const now = Date.now();
    const own = (await store.runners.listLeases({ now })).find(({ name }) => name === "gateway");
    const other = localRunner();
    await store.runners.recordHeartbeat({ runner: other, now });
    await store.runners.releaseLease({ name: "gateway", runner: own?.runner.id ?? "" });
    await store.runners.acquireLease({ name: "gateway", runner: other.id, ttlMs: 60_000, now });
    vi.advanceTimersByTime(HEARTBEAT_MS);
    expect(await ended).toMatchObject({ code: "in_use" });
  });
});

it("masks the bot's token in the log of a gateway, also in errors of a hook", async () => {
  const { gateway, home } = await gatewayScene();
  mkdirSync(join(home, "hooks"), { recursive: true, mode: 0o700 });
  const hook = `export const events = ["gateway:startup"];
    export function handle() { throw new Error("I know " + process.env.TELEGRAM_BOT_TOKEN); }`;
  writeFileSync(join(home, "hooks", "tell.mjs"), hook, { mode: 0o600 });
  const program = await gateway();
  const line = JSON.stringify(await program.logged(({ hook: name }) => name === "tell"));
  expect(line).toContain("I know");
  expect(line).not.toContain(SECRET);
});
