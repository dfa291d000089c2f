import { spawn, spawnSync } from "node:child_process";
import {
  chmodSync,
  existsSync,
  linkSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { openHome } from "../../test/support/test-home.ts";
import { buildToolContext, called, twoFolders } from "../../test/support/tool-context.ts";
import { readFileTool } from "./read-file.ts";
import type { ToolContext } from "./tool-context.ts";
import { writeFileTool } from "./write-file.ts";

async function openRoom(more: Partial<ToolContext> = {}) {
  const home = await openHome();
  const folders = twoFolders();
  const context = buildToolContext(home, { cwd: folders.inside, allowedFolders: [folders.inside], ...more });
  return {
    ...folders,
    context,
    at: (name: string) => join(folders.inside, name),
    write: (path: string, content: string, signal?: AbortSignal) =>
      called(writeFileTool(context), { path, content }, signal),
  };
}

const readMode = (path: string): number => statSync(path).mode & 0o777;

describe("write_file", () => {
  it("creates a file with its parent folders, and returns the number of lines", async () => {
    const { write, at, inside } = await openRoom();
    expect(await write("new/deep/a.txt", "eins\nzwei\n")).toEqual({
      text: "Created new/deep/a.txt: 2 lines.",
      failed: false,
    });
    expect(readFileSync(at("new/deep/a.txt"), "utf8")).toBe("eins\nzwei\n");
    expect(await write("one", "x")).toMatchObject({ text: "Created one: 1 line." });
    expect(await write("none", "")).toMatchObject({ text: "Created none: 0 lines." });
    expect(readdirSync(inside).toSorted()).toEqual(["new", "none", "one"]);
  });

  it("overwrites a file, keeps its mode, and returns the old number of lines", async () => {
    const { write, at } = await openRoom();
    writeFileSync(at("run.sh"), "old\nold\nold\n");
    chmodSync(at("run.sh"), 0o4750);
    expect((await write("run.sh", "new")).text).toBe("Overwrote run.sh: 1 line, instead of 3.");
    expect(readFileSync(at("run.sh"), "utf8")).toBe("new");
    // The set-user-ID bit is the exception.
    expect(statSync(at("run.sh")).mode & 0o7777).toBe(0o750);
  });

  it("removes temporary files of a killed process, and nothing else", async () => {
    const { write, at, inside } = await openRoom();
    const old = new Date(Date.now() - 3_600_000);
    const [left, fresh, other] = [
      ".postrider-0123456789abcdef.tmp",
      ".postrider-aaaaaaaaaaaaaaaa.tmp",
      ".postrider-notes.tmp",
    ];
    for (const name of [left, fresh, other]) writeFileSync(at(name), "half");
    for (const name of [left, other]) utimesSync(at(name), old, old);
    await write("one", "x");
    expect(readdirSync(inside).toSorted()).toEqual([fresh, other, "one"].toSorted());
  });

  it("creates files with the user's umask, and none in Postrider's home", async () => {
    const { root } = twoFolders();
    const home = join(root, "home");
    mkdirSync(home);
    const { write } = await openRoom({ cwd: root, allowedFolders: [root], deniedFolders: [home] });
    await write("usual/notes", "x");
    const mask = process.umask();
    expect([readMode(join(root, "usual")), readMode(join(root, "usual/notes"))]).toEqual([
      0o777 & ~mask,
      0o666 & ~mask,
    ]);
    expect((await write(join(home, "config.yaml"), "tools: all")).failed).toBe(true);
    expect(existsSync(join(home, "config.yaml"))).toBe(false);
  });

  it("writes the target of a link inside, and keeps the link and other hard links", async () => {
    const { write, at } = await openRoom();
    writeFileSync(at("real"), "old");
    linkSync(at("real"), at("twin"));
    symlinkSync("real", at("link"));
    expect((await write("link", "new")).failed).toBe(false);
    expect(["real", "twin", "link"].map((name) => readFileSync(at(name), "utf8"))).toEqual([
      "new",
      "old",
      "new",
    ]);
  });

  it("writes nothing outside, and replaces no folder, pipe or dangling link", async () => {
    const { write, at, inside, outside } = await openRoom();
    symlinkSync(outside, at("out"));
    symlinkSync(join(outside, "later"), at("lost"));
    mkdirSync(at("folder"));
    spawnSync("mkfifo", [at("pipe")]);
    for (const path of [
      "../outside/a",
      "out/a",
      "out/b/c",
      "lost",
      join(outside, "a"),
      "folder",
      "pipe",
      ".",
    ])
      expect(await write(path, "x"), path).toMatchObject({ failed: true });
    expect(readdirSync(outside)).toEqual([]);
    expect(readdirSync(inside).toSorted()).toEqual(["folder", "lost", "out", "pipe"]);
  });

  it("refuses a text that is too large or has half a surrogate pair, and keeps the old file", async () => {
    const { write, at } = await openRoom();
    writeFileSync(at("a"), "old");
    expect(await write("a", "ä".repeat(3 * 1024 * 1024))).toEqual({
      text: "The file would be larger than 5 MB. Nothing was written.",
      failed: true,
    });
    expect((await write("a", "half \uD83D")).failed).toBe(true);
    expect(readFileSync(at("a"), "utf8")).toBe("old");
  });

  it("writes nothing when the call was stopped before", async () => {
    const { write, at, inside } = await openRoom();
    writeFileSync(at("a"), "old");
    expect(await write("a", "new", AbortSignal.abort())).toMatchObject({ failed: true });
    expect(readFileSync(at("a"), "utf8")).toBe("old");
    expect(readdirSync(inside)).toEqual(["a"]);
  });

  it.skipIf(process.getuid?.() === 0)("leaves a file alone that its user has protected", async () => {
    const { write, at } = await openRoom();
    writeFileSync(at("a"), "old");
    chmodSync(at("a"), 0o444);
    expect((await write("a", "new")).failed).toBe(true);
    expect(readFileSync(at("a"), "utf8")).toBe("old");
  });

  it("reports a full disk, keeps the old file, and leaves no temporary file", async () => {
    const { inside, at } = await openRoom();
    writeFileSync(at("a"), "old");
    // A limit on the size of files has the effect of a full disk.
    const program = `
      import { writeFileTool } from ${JSON.stringify(new URL("./write-file.ts", import.meta.url).href)};
      const context = { cwd: ${JSON.stringify(inside)}, allowedFolders: [${JSON.stringify(inside)}], deniedFolders: [], secrets: [],
        clock: { random: (size) => new Uint8Array(size), now: () => 0 } };
      const call = { id: "1", signal: new AbortController().signal };
      const output = await writeFileTool(context).run({ path: "a", content: "x".repeat(1_000_000) }, call);
      console.log(JSON.stringify(output));`;
    const { stdout, stderr } = spawnSync(
      "sh",
      ["-c", 'ulimit -f 64; exec "$0" --input-type=module -e "$1"', process.execPath, program],
      { encoding: "utf8" },
    );
    expect(JSON.parse(stdout || JSON.stringify(stderr))).toEqual({
      parts: [
        {
          type: "text",
          text: "The disk has no space for a. Nothing was changed. Free some space and try again.",
        },
      ],
      failed: true,
    });
    expect(readFileSync(at("a"), "utf8")).toBe("old");
    expect(readdirSync(inside)).toEqual(["a"]);
  });
});

describe("a folder that is repeatedly replaced by a link", () => {
  it.skipIf(process.platform !== "linux")("never gives a tool access outside", async () => {
    const { inside, outside, at, write, context } = await openRoom();
    writeFileSync(join(outside, "file"), "hidden words");
    mkdirSync(at("a"));
    writeFileSync(at("a/file"), "open words");
    symlinkSync(outside, at("link"));
    const swapping = spawn(
      process.execPath,
      [
        "-e",
        `const { renameSync } = require("node:fs"); process.chdir(${JSON.stringify(inside)}); console.log("on");
         // The tool creates a missing folder, which is moved away.
         const put = (one, other) => { try { renameSync(one, other); } catch { renameSync(other, "away" + Math.random()); put(one, other); } };
         for (;;) { put("a", "b"); put("link", "a"); put("a", "link"); put("b", "a"); }`,
      ],
      { stdio: ["ignore", "pipe", "inherit"] },
    );
    onTestFinished(() => void swapping.kill("SIGKILL"));
    await new Promise((resolve) => swapping.stdout.once("data", resolve));
    const answers = { read: 0, written: 0, refused: 0 };
    const until = Date.now() + 1000;
    for (let n = 0; Date.now() < until; n += 1) {
      const read = await called(readFileTool(context), { path: "a/file" });
      expect(read.text).not.toContain("hidden words");
      const wrote = await write(`a/new`, String(n));
      answers.read += read.failed ? 0 : 1;
      answers.written += wrote.failed ? 0 : 1;
      answers.refused += read.failed || wrote.failed ? 1 : 0;
    }
    swapping.kill("SIGKILL");
    expect(readdirSync(outside)).toEqual(["file"]);
    expect(readFileSync(join(outside, "file"), "utf8")).toBe("hidden words");
    // The test has met both states: the folder and the link.
    expect(Math.min(answers.read, answers.written, answers.refused)).toBeGreaterThan(0);
  });
});
