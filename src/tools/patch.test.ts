import { spawnSync } from "node:child_process";
import { chmodSync, readdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { fakeClock, openHome } from "../../test/support/test-home.ts";
import { buildToolContext, called, twoFolders } from "../../test/support/tool-context.ts";
import { formatDiff } from "./diff.ts";
import { patchTool } from "./patch.ts";
import { replaceFile } from "./replace-file.ts";
import { applyTextPatch } from "./text-patch.ts";
import type { ToolContext } from "./tool-context.ts";

async function openRoom(content: string | Uint8Array, more: Partial<ToolContext> = {}) {
  const home = await openHome();
  const { inside, outside } = twoFolders();
  const context = buildToolContext(home, { cwd: inside, allowedFolders: [inside], ...more });
  const file = join(inside, "a.txt");
  writeFileSync(file, content);
  return {
    inside,
    outside,
    file,
    content: () => readFileSync(file, "utf8"),
    patch: (given: object) => called(patchTool(context), { path: "a.txt", ...given }),
  };
}

const poem = "one\ntwo\nthree\nfour\nfive\nsix\nseven\neight\nnine\nten\n";

describe("patch", () => {
  it("changes the one occurrence and shows the diff", async () => {
    const { patch, content, file, inside } = await openRoom(poem);
    chmodSync(file, 0o640);
    expect(await patch({ old: "five\nsix", new: "5\n5.5\nsix" })).toEqual({
      text: [
        "Changed a.txt:",
        "@@ -2,8 +2,9 @@",
        ...[" two", " three", " four", "-five", "+5", "+5.5", " six", " seven", " eight", " nine"],
      ].join("\n"),
      failed: false,
    });
    expect(content()).toBe(poem.replace("five", "5\n5.5"));
    expect(statSync(file).mode & 0o777).toBe(0o640);
    expect(readdirSync(inside)).toEqual(["a.txt"]);
  });

  it("refuses a text that occurs several times, also overlapping, unless all is set", async () => {
    const { patch, content } = await openRoom("aaa\nbb\naaa\n");
    expect(await patch({ old: "aaa", new: "c" })).toEqual({
      text: "old occurs 2 times in a.txt. Include more of the lines around it, or set all to replace every occurrence.",
      failed: true,
    });
    expect((await patch({ old: "aa", new: "c" })).text).toMatch(/occurs 4 times/);
    expect(content()).toBe("aaa\nbb\naaa\n");
    expect((await patch({ old: "aaa", new: "c", all: true })).text).toBe(
      "Changed a.txt in 2 places:\n@@ -1,3 +1,3 @@\n-aaa\n-bb\n-aaa\n+c\n+bb\n+c",
    );
    expect(content()).toBe("c\nbb\nc\n");
  });

  it("shows the most similar line when the text does not occur", async () => {
    const { patch, content } = await openRoom("function first() {\n  return readEverything(1);\n}\n");
    expect(await patch({ old: "return readEverthing( 1 )", new: "x" })).toEqual({
      text: [
        "old does not occur in a.txt. The most similar line is 2, with its neighbours:",
        "function first() {\n  return readEverything(1);\n}",
      ].join("\n"),
      failed: true,
    });
    expect((await patch({ old: "zzzz", new: "x" })).text).toMatch(/No line is similar; read the file again/);
    expect(content()).toMatch(/^function first/);
  });

  it("keeps the line endings of the file", async () => {
    const windows = await openRoom("a\r\nb\r\nc\r\n");
    await windows.patch({ old: "a\nb\n", new: "x\ny\nz\n" });
    expect(windows.content()).toBe("x\r\ny\r\nz\r\nc\r\n");
    await windows.patch({ old: "z", new: "1\n2" });
    expect(windows.content()).toBe("x\r\ny\r\n1\r\n2\r\nc\r\n");
    const mixed = await openRoom("a\r\nb\nc\r\n");
    await mixed.patch({ old: "b\n", new: "B\n" });
    await mixed.patch({ old: "a\nB", new: "A\nB" });
    expect(mixed.content()).toBe("A\r\nB\nc\r\n");
  });

  it("keeps a last line without a line break, and a byte order mark", async () => {
    const { patch, content } = await openRoom("\uFEFFa\nlast");
    await patch({ old: "last\n", new: "end\n" });
    expect(content()).toBe("\uFEFFa\nend");
    await patch({ old: "a\n", new: "" });
    expect(content()).toBe("\uFEFFend");
  });

  it.each([
    [/old is empty/, { old: "", new: "x" }],
    [/the same/, { old: "two", new: "two" }],
    [/b\.txt does not exist\. To create it, use write_file/, { path: "b.txt", old: "a", new: "b" }],
    [/is a folder/, { path: ".", old: "a", new: "b" }],
    [/"\.\.\/outside\/x" is not in an allowed folder/, { path: "../outside/x", old: "a", new: "b" }],
    [/"out\/x" is not in an allowed folder/, { path: "out/x", old: "hidden", new: "b" }],
    [/is a pipe/, { path: "pipe", old: "a", new: "b" }],
    [/half of a surrogate pair/, { old: "two", new: "\uDC00" }],
    [/larger than 5 MB/, { old: "two", new: "x".repeat(6_000_000) }],
  ])("refuses with an error text (%s), and changes nothing", async (sentence, given) => {
    const { patch, content, inside, outside } = await openRoom(poem);
    writeFileSync(join(outside, "x"), "hidden");
    symlinkSync(outside, join(inside, "out"));
    spawnSync("mkfifo", [join(inside, "pipe")]);
    expect(await patch(given)).toEqual({ text: expect.stringMatching(sentence), failed: true });
    expect([content(), readFileSync(join(outside, "x"), "utf8")]).toEqual([poem, "hidden"]);
  });

  it("does not change a file that is not UTF-8", async () => {
    const bytes = Buffer.from("caf\xe9 two", "latin1");
    const { patch, file } = await openRoom(bytes);
    expect((await patch({ old: "two", new: "2" })).text).toMatch(/not UTF-8 text/);
    expect(readFileSync(file)).toEqual(bytes);
  });

  it("does not change a file that changed since it was read", async () => {
    const { file, inside } = await openRoom(poem);
    const read = statSync(file);
    writeFileSync(file, "somebody else's");
    const replacing = replaceFile({
      to: { realPath: file },
      displayPath: "a.txt",
      bytes: Buffer.from("mine"),
      expected: read,
      random: (size) => new Uint8Array(size),
      signal: new AbortController().signal,
    });
    await expect(replacing).rejects.toThrow(
      "a.txt was changed by another process in the meantime. Read it again.",
    );
    expect([readFileSync(file, "utf8"), readdirSync(inside)]).toEqual(["somebody else's", ["a.txt"]]);
  });

  it("changes nothing when the file changes during the patch", async () => {
    const clock = fakeClock();
    let theirs = (): void => {};
    // The random name of the temporary file is made after the read and before the replacement.
    const random = (bytes: number): Uint8Array => {
      theirs();
      return clock.random(bytes);
    };
    const { patch, content, file } = await openRoom(poem, { clock: { ...clock, random } });
    theirs = () => writeFileSync(file, "somebody else's");
    expect(await patch({ old: "five", new: "5" })).toMatchObject({ failed: true });
    expect(content()).toBe("somebody else's");
  });

  it("shows no secret of the context lines", async () => {
    const { patch } = await openRoom(`a\nkey=${"k".repeat(290)}sk-very-secret-123456\nb\n`, {
      secrets: ["sk-very-secret-123456"],
    });
    expect((await patch({ old: "b", new: "c" })).text).not.toMatch(/sk-v/);
    expect((await patch({ old: "keys=kkkk", new: "c" })).text).not.toMatch(/sk-v/);
  });

  it("shortens the diff of a large change", async () => {
    const { patch, content } = await openRoom("same line\nother\nand\nso\non\nuntil\nit\nis\n".repeat(5000));
    const { text } = await patch({ old: "same line", new: "new line", all: true });
    expect(text.length).toBeLessThan(7000);
    expect(text).toMatch(
      /^Changed a\.txt in 5000 places:\n[\s\S]+\[The rest is omitted\. \d+ more changes\.\]$/,
    );
    expect(content()).not.toContain("same line");
  });
});

describe("a patch", () => {
  const line = fc.constantFrom("a", "b", "aa", "ab", "", "c d");
  const text = fc
    .tuple(fc.array(line, { maxLength: 25 }), fc.constantFrom("\n", "\r\n"), fc.boolean())
    .map(([lines, ending, isEnded]) => lines.join(ending) + (isEnded ? ending : ""));

  it("changes exactly the intended text, and its diff turns the old text into the new", () => {
    fc.assert(
      fc.property(
        text,
        fc.array(line, { maxLength: 3 }),
        fc.array(line, { maxLength: 3 }),
        fc.boolean(),
        (before, o, n, all) => {
          const result = applyTextPatch(before, { old: o.join("\n"), new: n.join("\n"), all });
          if ("wrong" in result) return;
          const [first] = result.replacements;
          if (first === undefined) throw new Error("a patch without a place");
          const old = before.slice(first.from, first.to);
          expect(result.after).toBe(
            all
              ? before.split(old).join(first.becomes)
              : before.slice(0, first.from) + first.becomes + before.slice(first.to),
          );
          if (!all) expect(before.indexOf(old)).toBe(before.lastIndexOf(old));
          expect(applyDiff(before, formatDiff(before, result))).toEqual(splitLines(result.after));
        },
      ),
      { numRuns: 3000 },
    );
  });
});

function splitLines(text: string): string[] {
  if (text === "") return [];
  return (text.endsWith("\n") ? text.slice(0, -1) : text).split("\n").map((one) => one.replace(/\r$/, ""));
}

/** Applies a unified diff to the lines of a text. Throws if it does not match. */
function applyDiff(before: string, diff: string): string[] {
  const old = splitLines(before);
  const result: string[] = [];
  let at = 0;
  for (const one of diff.split("\n")) {
    const [, from, , to] = /^@@ -(\d+),(\d+) \+(\d+),(\d+) @@$/.exec(one) ?? [];
    if (from !== undefined) {
      while (at < Number(from) - 1) result.push(old[at++] ?? "");
      expect(result).toHaveLength(Number(to) - 1);
    } else if (one.startsWith("+")) result.push(one.slice(1));
    else {
      expect(old[at]).toBe(one.slice(1));
      if (one.startsWith(" ")) result.push(one.slice(1));
      at += 1;
    }
  }
  return [...result, ...old.slice(at)];
}
