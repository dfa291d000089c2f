import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { createSessions, localSource, OWNER, sqliteStore, systemClock } from "../src/index.ts";
import { type CliEnded, startCli } from "./support/cli.ts";
import { temporaryFolder } from "./support/folder.ts";

const MINUTE = 60_000;

function room(config: string) {
  const folder = temporaryFolder();
  onTestFinished(() => folder.remove());
  const home = join(folder.path, "home");
  mkdirSync(home, { mode: 0o700 });
  writeFileSync(join(home, "config.yaml"), config, { mode: 0o600 });
  return {
    home,
    folder: folder.path,
    /** The output for these lines in a pipe. */
    pipe(lines: readonly string[], ...args: readonly string[]): Promise<CliEnded> {
      const { process: child, ended } = startCli(home, args);
      child.stdin.end(`${lines.join("\n")}\n`);
      return ended;
    },
  };
}

it("resets a conversation of the terminal by the configured policy", async () => {
  const { home, pipe } = room("session_reset:\n  mode: idle\n  idle_minutes: 5\n");
  const store = await sqliteStore({ file: join(home, "postrider.db"), mode: "in-process" });
  const clock = { ...systemClock, now: () => Date.now() - 10 * MINUTE };
  const sessions = createSessions({ store, clock });
  const { session } = await sessions.open(localSource());
  await sessions.append({ person: OWNER }, session.id, { role: "user", text: "ten minutes ago" });
  await store.close();
  expect(await pipe(["now"])).toMatchObject({ code: 0, out: "You said: now\n" });
});

it("compresses a conversation of the terminal that nearly fills the model's context window, and shows a notice", async () => {
  const { folder, pipe } = room("compression:\n  at: 0.5\n");
  const file = join(folder, "script.json");
  writeFileSync(file, JSON.stringify({ window: 600, answers: [{ say: ["ok"] }] }));
  const lines = Array.from({ length: 8 }, (_, at) => `${at}: ${"word ".repeat(60)}`);
  const { code, err } = await pipe(lines, "--agent", `script:${file}`);
  expect(code).toBe(0);
  expect(err).toContain("its beginning was summed up");
});
