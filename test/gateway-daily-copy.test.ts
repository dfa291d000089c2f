import { existsSync, mkdirSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it, onTestFinished, vi } from "vitest";
import { type ComposedGateway, composeGateway } from "../src/apps/compose-gateway.ts";
import { openConfig } from "../src/apps/config/open-config.ts";
import { type Home, resolveHome } from "../src/apps/home.ts";
import { openLog } from "../src/apps/log/open-log.ts";
import { startFakeTelegram } from "../src/testing/fake-telegram/index.ts";
import { textsIn } from "./support/database.ts";
import { temporaryFolder } from "./support/folder.ts";

const DAY_MS = 24 * 3600_000;
const LOOK_MS = 10 * 60_000;

beforeEach(() => {
  const toFake = ["setTimeout", "clearTimeout", "setInterval", "clearInterval", "Date"] as const;
  vi.useFakeTimers({ toFake: [...toFake] });
});
afterEach(() => void vi.useRealTimers());

interface Running {
  readonly home: Home;
  readonly gateway: ComposedGateway;
  /** The finished copies. */
  copies(): string[];
  /** Resolves when there are this many. */
  untilCopies(count: number): Promise<void>;
  readonly warnings: string[];
}

/** The gateway as `postrider gateway run` composes it, in this process. */
async function start(): Promise<Running> {
  const folder = temporaryFolder();
  onTestFinished(() => folder.remove());
  const fake = await startFakeTelegram();
  onTestFinished(() => fake.close());
  const environment = {
    POSTRIDER_HOME: join(folder.path, "home"),
    POSTRIDER_AGENT: "echo",
    TELEGRAM_API_ROOT: fake.url,
    TELEGRAM_BOT_TOKEN: fake.token,
  };
  const home = resolveHome(environment);
  mkdirSync(home.folder, { mode: 0o700 });
  const warnings: string[] = [];
  const config = openConfig({
    home,
    cwd: folder.path,
    environment,
    notice: (text) => void warnings.push(text),
  });
  onTestFinished(() => config.close());
  const log = openLog({ home, level: "warn", show: { write: (text) => warnings.push(text) } });
  onTestFinished(() => log.close());
  const gateway = await composeGateway({ home, environment, config, log });
  onTestFinished(() => gateway.stop());
  const copies = (): string[] =>
    existsSync(home.backups) ? readdirSync(home.backups).filter((name) => name.endsWith(".db")) : [];
  return {
    ...{ home, gateway, copies, warnings },
    untilCopies: (count) => until(`${count} copies`, async () => copies().length >= count),
  };
}

/** The copying thread is real and sends no event, so this polls, for half a minute at most. */
async function until(what: string, holds: () => Promise<boolean>): Promise<void> {
  for (const deadline = performance.now() + 30_000; !(await holds()); await new Promise(setImmediate))
    if (performance.now() > deadline) throw new Error(`not within 30 seconds: ${what}`);
}

/** Whether a copy is in progress: its process holds the lease. */
async function isCopying({ store }: ComposedGateway): Promise<boolean> {
  // Writes complete in order: after this one, all earlier writes are done and reported.
  const settled = (): Promise<void> => store.runners.retire({ runner: "nobody" });
  await settled();
  const leases = await store.runners.listLeases({ now: Date.now() });
  await settled();
  return leases.some(({ name }) => name === "backup");
}

it("makes a copy soon after its start, and the next one a day later", async () => {
  const { home, gateway, copies, untilCopies, warnings } = await start();
  await vi.advanceTimersByTimeAsync(14_000);
  expect([await isCopying(gateway), copies()]).toEqual([false, []]);
  await vi.advanceTimersByTimeAsync(1000);
  await untilCopies(1);
  expect(textsIn(join(home.backups, copies()[0] ?? ""))).toEqual([]);
  await until("the end of the copy", async () => !(await isCopying(gateway)));

  vi.setSystemTime(Date.now() + DAY_MS - 2 * LOOK_MS);
  await vi.advanceTimersByTimeAsync(LOOK_MS);
  expect([await isCopying(gateway), copies().length]).toEqual([false, 1]);
  vi.setSystemTime(Date.now() + LOOK_MS);
  await vi.advanceTimersByTimeAsync(LOOK_MS);
  await untilCopies(2);
  expect(warnings).toEqual([]);
});

it("makes no copy after it has stopped", async () => {
  const { gateway, copies, untilCopies, warnings } = await start();
  await vi.advanceTimersByTimeAsync(15_000);
  await untilCopies(1);
  await until("the end of the copy", async () => !(await isCopying(gateway)));
  await gateway.stop();
  vi.setSystemTime(Date.now() + 2 * DAY_MS);
  await vi.advanceTimersByTimeAsync(2 * LOOK_MS);
  for (let turn = 0; turn < 100; turn += 1) await new Promise(setImmediate);
  expect(copies()).toHaveLength(1);
  // An attempt with a closed store would be reported here.
  expect(warnings).toEqual([]);
});
