import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { localRunner, sqliteStore } from "../src/index.ts";
import { driveLostFiles } from "./lost-file/drive.ts";
import { textsIn } from "./support/database.ts";
import { temporaryFolder } from "./support/folder.ts";
import { ADA, gatewayScene } from "./support/gateway-program.ts";
import { startProgram } from "./support/program.ts";
import { schedule } from "./support/schedule.ts";

const KEEPER = fileURLToPath(new URL("../src/apps/keeper.ts", import.meta.url));

const SEED = 20_261_117;
/** Each kind of loss once with threads and, at full length, once without. */
const TIMES_EACH = schedule(1, 2);
const LOSSES = 9 * TIMES_EACH;

it.skipIf(process.platform === "win32")(
  "keeps every acknowledged operation when the files of a working process are removed, replaced or moved",
  async () => {
    const folder = temporaryFolder();
    onTestFinished(() => folder.remove());
    const report = await driveLostFiles({ folder: folder.path, seed: SEED, losses: LOSSES });
    const { losses, inFlight, operations, kinds, errors, lost, doubled, broken } = report;
    console.log(`seed ${SEED}: losses ${losses}, in flight ${inFlight}, operations ${operations}`);
    expect({ errors, lost, doubled, broken }).toEqual({ errors: [], lost: [], doubled: [], broken: [] });
    expect(Object.values(kinds)).toEqual(Array.from({ length: 9 }, () => TIMES_EACH));
    expect(operations).toBeGreaterThan(LOSSES * 10);
  },
  120_000,
);

const rescuedIn = (text: string): string => /saved in (\S+?\.db\.rescued-\S+?)\. /.exec(text)?.[1] ?? "";

describe.skipIf(process.platform === "win32")("a process whose database is removed while it runs", () => {
  it("ends as a gateway with code 6, and the next one continues with the rescued copy without loss", async () => {
    const { gateway, ask, fake, chat, home, run, answers } = await gatewayScene();
    const first = await gateway();
    expect(await ask("one")).toBe("You said: one");
    rmSync(join(home, "postrider.db"));
    await fake.say(chat, ADA, "two");
    const { code, err } = await first.ended;
    expect(code).toBe(6);
    expect(err).toContain("postrider.db was removed while Postrider had it open");
    expect(readFileSync(join(home, "logs", "gateway.log"), "utf8")).toContain("store_lost");
    const rescued = rescuedIn(err);
    expect(await run(["restore", rescued, "--replace"])).toMatchObject({ code: 0 });
    await gateway();
    await fake.untilAnswered(chat, 2);
    expect(await answers()).toEqual(["You said: one", "You said: two (before that: one)"]);
  });

  it("ends as a terminal with code 6, and does not answer a line that was not stored", async () => {
    const folder = temporaryFolder();
    onTestFinished(() => folder.remove());
    const program = startProgram(folder.path, [], { POSTRIDER_AGENT: "echo" });
    onTestFinished(() => program.kill());
    program.say(["one"]);
    expect(await program.printed(1, 20_000)).toBe(true);
    rmSync(join(folder.path, "postrider.db-wal"));
    await new Promise((resolve) => setTimeout(resolve, 10)); // the files are checked every few milliseconds
    program.say(["two"]);
    const { code, out, err } = await program.ended;
    expect({ code, out }).toEqual({ code: 6, out: "You said: one\n" });
    expect(textsIn(rescuedIn(err)).slice(0, 2)).toEqual(["one", "You said: one"]);
  });

  it("ends as an editor's agent with code 6, and reports the reason", async () => {
    const folder = temporaryFolder();
    onTestFinished(() => folder.remove());
    const program = startProgram(folder.path, ["acp", "--agent", "echo"]);
    onTestFinished(() => program.kill());
    const request = (id: number, method: string, params: unknown): string =>
      JSON.stringify({ jsonrpc: "2.0", id, method, params });
    program.say([request(1, "initialize", { protocolVersion: 1, clientCapabilities: {} })]);
    program.say([request(2, "session/new", { cwd: folder.path, mcpServers: [] })]);
    expect(await program.printed(2, 20_000)).toBe(true);
    rmSync(join(folder.path, "postrider.db"));
    program.say([request(3, "session/new", { cwd: folder.path, mcpServers: [] })]);
    const { code, err } = await program.ended;
    expect(code).toBe(6);
    expect(rescuedIn(err)).toContain("postrider.db.rescued-");
    expect(readFileSync(join(folder.path, "logs", "editor.log"), "utf8")).toContain("store_lost");
  });

  it("ends as a process keeper with code 6 at its next heartbeat", async () => {
    const folder = temporaryFolder();
    onTestFinished(() => folder.remove());
    const store = await sqliteStore({ file: join(folder.path, "postrider.db"), mode: "in-process" });
    await store.runners.recordHeartbeat({ runner: localRunner(), now: Date.now() });
    await store.close();
    const keeper = spawn(process.execPath, [KEEPER, folder.path], { stdio: "ignore" });
    onTestFinished(() => void keeper.kill("SIGKILL"));
    const log = join(folder.path, "logs", "keeper.log");
    await vi.waitFor(() => expect(readFileSync(log, "utf8")).toContain("the keeper listens"), 20_000);
    rmSync(join(folder.path, "postrider.db"));
    const [code] = await once(keeper, "exit");
    expect(code).toBe(6);
    expect(rescuedIn(readFileSync(log, "utf8"))).not.toBe("");
  }, 40_000);
});
