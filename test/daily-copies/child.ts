/** A process that makes daily copies by a clock that the test controls. */

import { startDailyCopies } from "../../src/apps/daily-copies.ts";
import { resolveHome } from "../../src/apps/home.ts";
import { localRunner, sqliteStore } from "../../src/index.ts";
import { say, told } from "../support/child.ts";
import { fakeCopyClock } from "./fake-clock.ts";

const [folder = "", start = "0"] = process.argv.slice(2);
const home = resolveHome({ POSTRIDER_HOME: folder });
const store = await sqliteStore({ file: home.database });
const runner = localRunner();
await store.runners.recordHeartbeat({ runner, now: Date.now() });
const clock = fakeCopyClock(Number(start));
const copies = startDailyCopies({
  home,
  store,
  runner: runner.id,
  notice: (text) => say({ notice: text }),
  clock,
});
say({ step: "ready" });
for await (const ms of told<number>()) {
  await clock.pass(ms);
  say({ step: "passed", ms });
}
await copies.stop();
await store.runners.retire({ runner: runner.id });
await store.close();
process.exit(0);
