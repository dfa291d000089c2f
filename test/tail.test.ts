import { appendFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { getLogFile, type OpenLog, openLog } from "../src/apps/log/open-log.ts";
import { startCli } from "./support/cli.ts";
import { testHome } from "./support/command.ts";
import { furnishedHome } from "./support/furnished.ts";

function logIn(folder: string, mostBytes?: number): OpenLog {
  return openLog({ home: { folder }, level: "debug", ...(mostBytes !== undefined && { mostBytes }) });
}

function messages(jsonLines: string): unknown[] {
  return jsonLines
    .trimEnd()
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => (JSON.parse(line) as { msg: unknown }).msg);
}

describe("postrider tail", () => {
  it("reports a missing log", async () => {
    expect(await testHome().run(["tail"])).toMatchObject({
      code: 3,
      err: expect.stringContaining("gateway run"),
    });
  });

  it("shows the newest lines, also from rotated files", async () => {
    const home = testHome();
    const log = logIn(home.folder, 300);
    for (let number = 1; number <= 9; number += 1) log.info({ number }, `line ${number}`);
    log.close();
    expect(messages((await home.run(["tail", "-n", "4", "--json"])).out)).toEqual([
      "line 6",
      "line 7",
      "line 8",
      "line 9",
    ]);
    expect((await home.run(["tail", "-n", "1"])).out).toMatch(/^\[[-\d: ]+\] INFO: line 9 \{"number":9\}\n$/);
    expect((await home.run(["tail", "-n", "0"])).out).toBe("");
  });

  it("shows a torn line if no level is given, and never fails on it", async () => {
    const home = testHome();
    const log = logIn(home.folder);
    log.info({}, "whole");
    log.close();
    appendFileSync(getLogFile(home), '{"level":"info","ti\n');
    expect((await home.run(["tail"])).out).toMatch(/whole\n\{"level":"info","ti\n$/);
    expect(messages((await home.run(["tail", "--level", "info", "--json"])).out)).toEqual(["whole"]);
  });

  it("filters by level, and by session with all lines of its turns", async () => {
    const home = await furnishedHome();
    const log = logIn(home.folder);
    log.info({ turn: 1, session: home.plansId }, "ours begins");
    log.info({ turn: 2, session: "another" }, "other begins");
    log.warn({ turn: 1 }, "ours not delivered");
    log.warn({ turn: 2 }, "other not delivered");
    log.debug({ session: home.plansId }, "ours expires");
    log.close();
    const ours = await home.run(["tail", "--session", home.plans, "--json"]);
    expect(messages(ours.out)).toEqual(["ours begins", "ours not delivered", "ours expires"]);
    const grave = await home.run(["tail", "--session", "holiday plans", "--level", "warn", "--json"]);
    expect(messages(grave.out)).toEqual(["ours not delivered"]);
    expect(await home.run(["tail", "--session", "nobody"])).toMatchObject({ code: 3 });
    expect(await home.run(["tail", "--level", "loud"])).toMatchObject({ code: 2 });
  });

  it("follows the log across rotations, and misses no line", async () => {
    const home = testHome();
    const log = logIn(home.folder, 1000);
    log.info({}, "begin");
    const { process: child, ended } = startCli(home.folder, ["tail", "-f", "--json"]);
    let out = "";
    let wake = (): void => {};
    child.stdout.on("data", (data) => {
      out += data;
      wake();
    });
    const until = async (text: string): Promise<void> => {
      while (!out.includes(text)) await new Promise<void>((resolve) => (wake = resolve));
    };
    await until("begin");
    const said = ["begin"];
    for (let round = 0; round < 3; round += 1) {
      // More lines than fit in one file, fewer than fit in all kept files.
      for (let number = 0; number < 25; number += 1) {
        said.push(`line ${round}.${number}`);
        log.info({}, `line ${round}.${number}`);
      }
      await until(`line ${round}.24"`);
    }
    log.close();
    child.kill("SIGINT");
    await ended;
    expect(messages(out)).toEqual(said);
  });
});
