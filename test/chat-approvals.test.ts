import { spawn } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { text as readAll } from "node:stream/consumers";
import { fileURLToPath } from "node:url";
import { describe, expect, it, onTestFinished } from "vitest";
import { temporaryFolder } from "./support/folder.ts";
import { startPostrider } from "./support/terminal.ts";

const BIN = fileURLToPath(new URL("../bin/postrider.mjs", import.meta.url));
const approve = { title: "Remove the folder build", detail: "rm -rf build", pattern: "rm -rf build" };
const SCRIPT = { answers: [{ say: [{ approve, denied: "It stays." }, "It is gone."] }] };

function scene() {
  const temporary = temporaryFolder();
  onTestFinished(() => temporary.remove());
  const folder = temporary.path;
  writeFileSync(join(folder, "script.json"), JSON.stringify(SCRIPT));
  const environment = {
    POSTRIDER_HOME: join(folder, "home"),
    POSTRIDER_AGENT: `script:${join(folder, "script.json")}`,
  };
  return { folder, environment };
}

/** Runs without a terminal. */
async function run({ folder, environment }: ReturnType<typeof scene>, args: readonly string[], input = "") {
  const child = spawn(process.execPath, [BIN, ...args], {
    cwd: folder,
    env: { ...process.env, ...environment },
  });
  onTestFinished(() => void child.kill("SIGKILL"));
  child.stdin.end(input);
  const [out, err] = await Promise.all([readAll(child.stdout), readAll(child.stderr)]);
  return { out, err };
}

describe("an approval request in the terminal", () => {
  it("is shown, and can be denied, allowed once or allowed permanently by commands", async () => {
    const at = scene();
    const terminal = startPostrider([], { ...at, rows: 40 });
    await terminal.waitFor(/ · \d+ messages? · .*script/);
    const rounds = [
      ["tidy up", "/deny", "Not done: Remove the folder build"],
      ["once more", "/approve", "Allowed this once: Remove the folder build"],
      ["and again", "/approve always", "Allowed from now on for rm -rf build"],
    ] as const;
    for (const [index, [said, line, reply]] of rounds.entries()) {
      terminal.type(said);
      terminal.press("enter");
      await terminal.waitFor((screen) => {
        const asked = screen.findLastIndex((row) => row.includes("May I? Remove the folder build"));
        const saidAt = screen.findLastIndex((row) => row.includes(`› ${said}`));
        return saidAt >= 0 && asked > saidAt;
      });
      terminal.type(line);
      terminal.press("enter");
      await terminal.waitFor(reply);
      await terminal.waitFor(`· ${2 * (index + 1)} messages ·`);
    }
    const rows = terminal.everything().map((row) => row.trim());
    expect(rows.filter((row) => /^It (?:stays|is gone)\.$/.test(row))).toEqual([
      "It stays.",
      "It is gone.",
      "It is gone.",
    ]);
    terminal.press("ctrl-d");
    expect(await terminal.ended).toMatchObject({ code: 0 });
    // A permanent approval applies also without a person at the terminal.
    expect(await run(at, ["-q", "tidy up"])).toMatchObject({ out: "It is gone.\n" });
  });
});

describe("without a person at the terminal", () => {
  const sentence = "Denied, because nobody can approve it here: Remove the folder build.";

  it("a single question denies the action at once, with a notice on stderr", async () => {
    const { out, err } = await run(scene(), ["-q", "tidy up"]);
    expect([out, err]).toEqual(["It stays.\n", expect.stringContaining(sentence)]);
  });

  it("a pipe denies the action at once, with a notice on stderr, and a later yes is a message", async () => {
    const { out, err } = await run(scene(), [], "tidy up\nyes\n/approve\n");
    expect(out).toBe("It stays.\nIt stays.\n");
    expect(err.split(sentence)).toHaveLength(3);
    expect(err).toContain("Nothing waits for approval.");
  });
});
