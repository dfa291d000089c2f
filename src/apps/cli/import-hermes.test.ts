import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { PassThrough } from "node:stream";
import { describe, expect, it, onTestFinished } from "vitest";
import { temporaryFolder } from "../../../test/support/folder.ts";
import { importHermesCommand } from "./import-hermes.ts";
import type { Io } from "./io.ts";

/** Runs the command as in a terminal or a pipe, in a home of its own, on a home with these transcripts. */
async function run(isTTY: boolean, transcripts: Readonly<Record<string, string>>, ...args: string[]) {
  const folder = temporaryFolder();
  onTestFinished(() => folder.remove());
  const old = join(folder.path, "old");
  mkdirSync(join(old, "sessions"), { recursive: true });
  for (const [id, text] of Object.entries(transcripts))
    writeFileSync(join(old, "sessions", `${id}.jsonl`), text);
  const [output, notices] = [new PassThrough(), new PassThrough()];
  const io: Io = {
    input: new PassThrough(),
    output,
    notices: Object.assign(notices, { isTTY }),
    environment: { POSTRIDER_HOME: join(folder.path, "home") },
    now: Date.now,
  };
  const code = await importHermesCommand.run([old, ...args], io);
  return { code, out: String(output.read() ?? ""), err: String(notices.read() ?? "") };
}

const HELLO = '{"role":"user","content":"hello"}\n';

describe("postrider import hermes", () => {
  it("counts sessions on a progress line in a terminal, and removes the line", async () => {
    const { err } = await run(true, { s1: HELLO, s2: HELLO });
    const line = err.slice(err.indexOf("\r"));
    expect(line).toMatch(/^\rImporting \[[#.]{24}\] 0\/2 sessions/);
    expect(line).not.toContain("\n");
    expect(line.endsWith("\r\u001B[K")).toBe(true);
    expect((await run(false, { s1: HELLO })).err).toBe("");
  });

  it("prints the contents, the result and the path of the report", async () => {
    const { code, out, err } = await run(false, { s1: `${HELLO}oops\n` });
    expect(code).toBe(0);
    expect(out).toMatch(/sessions +1 found, 0 of them already imported\n/);
    expect(out).toMatch(/messages +1 \(1 user, 0 assistant, 0 tool, 0 note\)\n/);
    expect(out).toMatch(/corrupt lines +1\n/);
    expect(out).toContain("Imported 1, continued 0, unchanged 0, changed there 0, failed 0.");
    expect(out).toMatch(/Report: .*\/reports\/import-hermes-[\d_.-]+\.json\n$/);
    expect(err).toBe("sessions/s1.jsonl:2: not JSON\n");
  });

  it("shows the ten worst problems first, and where the others are", async () => {
    const broken = Array.from({ length: 12 }, () => "oops\n").join("");
    const { err } = await run(false, { s1: broken }, "--dry-run");
    expect(
      err
        .split("\n")
        .slice(0, 10)
        .every((line) => line.endsWith("not JSON")),
    ).toBe(true);
    expect(err).toContain("and 2 more; --json lists them all\n");
  });
});
