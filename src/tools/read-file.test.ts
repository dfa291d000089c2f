import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import fc from "fast-check";
import { describe, expect, it, onTestFinished } from "vitest";
import { openHome } from "../../test/support/test-home.ts";
import { buildToolContext, called, twoFolders } from "../../test/support/tool-context.ts";
import { OWNER } from "../core/owner.ts";
import { paginateText } from "./paginate-text.ts";
import { readFileTool } from "./read-file.ts";
import type { ToolContext } from "./tool-context.ts";

async function openRoom(more: Partial<ToolContext> = {}) {
  const home = await openHome();
  const { inside, outside } = twoFolders();
  const context = buildToolContext(home, { cwd: inside, allowedFolders: [inside], ...more });
  return {
    home,
    inside,
    outside,
    context,
    write: (name: string, content: string | Uint8Array) => writeFileSync(join(inside, name), content),
    read: async (given: object) => called(readFileTool(context), given),
  };
}

const numbered = (count: number): string =>
  Array.from({ length: count }, (_, i) => `line ${i + 1}\n`).join("");

describe("read_file", () => {
  it("returns a text after a line with the position of its lines", async () => {
    const { write, read } = await openRoom();
    write("a.txt", "Häuser\n\tgleich\n\nzuletzt");
    expect(await read({ path: "a.txt" })).toEqual({
      text: "a.txt: 1 to 4 of 4 lines\nHäuser\n\tgleich\n\nzuletzt",
      failed: false,
    });
  });

  it("returns a part, from a line or from the end, and the offset of the next part", async () => {
    const { write, read } = await openRoom();
    write("long.txt", numbered(5000));
    const lines = async (given: object) => (await read({ path: "long.txt", ...given })).text.split("\n");
    const [head, first, ...rest] = await lines({});
    expect([head, first, rest.at(-1)]).toEqual([
      "long.txt: 1 to 2,000 of 5,000 lines; continue with offset 2001",
      "line 1",
      "line 2000",
    ]);
    expect(await lines({ offset: 4999 })).toEqual([
      "long.txt: 4,999 to 5,000 of 5,000 lines",
      "line 4999",
      "line 5000",
    ]);
    expect((await lines({ offset: 10, limit: 2 })).slice(1)).toEqual(["line 10", "line 11"]);
    expect((await lines({ offset: -2 })).slice(1)).toEqual(["line 4999", "line 5000"]);
    // An offset beyond either end is clamped.
    expect((await lines({ offset: 9999 })).slice(1)).toEqual(["line 5000"]);
    expect((await lines({ offset: -9999, limit: 1 })).slice(1)).toEqual(["line 1"]);
    expect((await lines({ offset: 0, limit: -5 })).slice(1)).toEqual(["line 1"]);
  });

  it("reports when a file is empty, has CRLF line endings, or is not UTF-8", async () => {
    const { write, read } = await openRoom();
    write("empty", "");
    write("crlf", "a\r\nb\r\n");
    write("latin", Buffer.from("caf\xe9\n", "latin1"));
    write("utf16", Buffer.from("\uFEFFwide\n", "utf16le"));
    write("bom", "\uFEFFmarked\n");
    expect((await read({ path: "empty" })).text).toBe("empty is empty.");
    expect((await read({ path: "crlf" })).text).toBe("crlf: 1 to 2 of 2 lines; its lines end in CRLF\na\nb");
    expect((await read({ path: "latin" })).text).toMatch(/read as Latin-1\ncafé$/);
    expect((await read({ path: "utf16" })).text).toMatch(/read as UTF-16\nwide$/);
    expect((await read({ path: "bom" })).text).toBe("bom: 1 to 1 of 1 line\nmarked");
  });

  it("describes the type and size of a binary file", async () => {
    const { write, read } = await openRoom();
    write("shot.png", Buffer.concat([Buffer.from("89504e470d0a1a0a", "hex"), Buffer.alloc(2040)]));
    write("paper.pdf", "%PDF-1.7\nwords");
    write("noise", Buffer.from([1, 2, 0, 3]));
    expect((await read({ path: "shot.png" })).text).toBe(
      "shot.png is a PNG image, 2 KB. It cannot be shown.",
    );
    expect((await read({ path: "paper.pdf" })).text).toMatch(/is a PDF document, 14 bytes/);
    expect((await read({ path: "noise" })).text).toMatch(/is not text, 4 bytes/);
  });

  it("reads the start or the end of a very large file", async () => {
    const { write, read } = await openRoom();
    write("log", `first é\n${"é".repeat(50)}\n`.repeat(150_000));
    const [head, line] = (await read({ path: "log", limit: 1 })).text.split("\n");
    expect(head).toMatch(/^log: 1 to 1 of [\d,]+ lines; .*; only the first 10 MB of 15\.\d MB were read$/);
    expect(line).toBe("first é");
    const end = (await read({ path: "log", offset: -1 })).text.split("\n");
    expect(end[0]).toMatch(/only the last 10 MB/);
    expect(end[1]).toBe("é".repeat(50));
  });

  it("lists a folder, up to a limit", async () => {
    const { inside, read } = await openRoom();
    mkdirSync(join(inside, "many"));
    expect((await read({ path: "many" })).text).toBe("many is an empty folder.");
    mkdirSync(join(inside, "many", "sub"));
    writeFileSync(join(inside, "many", "b"), "");
    writeFileSync(join(inside, "many", "a"), "");
    expect((await read({ path: "many" })).text).toBe("many is a folder:\na\nb\nsub/");
    for (let n = 0; n < 600; n += 1) writeFileSync(join(inside, "many", `f${n}`), "");
    const lines = (await read({ path: "many" })).text.split("\n");
    expect(lines[0]).toBe("many is a folder with more than 500 entries; some of them:");
    expect(lines).toHaveLength(501);
  });

  it("suggests similar names for a missing file, or reports a missing folder", async () => {
    const { write, read } = await openRoom();
    for (const name of ["session-search.ts", "session-named.ts", "README.md"]) write(name, "");
    expect(await read({ path: "sesion-serch.ts" })).toEqual({
      text: "sesion-serch.ts does not exist. Similar names: session-search.ts, session-named.ts.",
      failed: true,
    });
    expect((await read({ path: "readme.md" })).text).toMatch(/Similar names: README\.md/);
    expect((await read({ path: "zzz" })).text).toBe("zzz does not exist.");
    expect((await read({ path: "no/where" })).text).toBe(
      "no/where does not exist, and neither does the folder no.",
    );
    expect((await read({ path: "README.md/x" })).text).toMatch(/a part of its path is a file/);
  });

  it("opens no pipe, socket or device, and never blocks on one", async () => {
    const { inside, read } = await openRoom();
    execFileSync("mkfifo", [join(inside, "pipe")]);
    const server = createServer().listen(join(inside, "sock"));
    onTestFinished(() => void server.close());
    await new Promise((resolve) => server.once("listening", resolve));
    expect(await read({ path: "pipe" })).toEqual({ text: "pipe is a pipe, not a file.", failed: true });
    expect((await read({ path: "sock" })).text).toBe("sock is a socket, not a file.");
    expect((await read({ path: "/dev/zero" })).failed).toBe(true);
  });

  it("reads nothing outside the allowed folders, by any path", async () => {
    const { inside, outside, read } = await openRoom();
    writeFileSync(join(outside, "secret"), "hidden words");
    symlinkSync(outside, join(inside, "out"));
    for (const path of [
      "../outside/secret",
      join(outside, "secret"),
      "out/secret",
      "out",
      "",
      7,
      undefined,
    ]) {
      const answer = await read({ path });
      expect(answer.failed).toBe(true);
      expect(answer.text).not.toContain("hidden words");
    }
  });

  it("shows no secret, not even a part of one", async () => {
    const { write, read } = await openRoom({ secrets: ["sk-very-secret-123456", "short"] });
    write("conf", `key: sk-very-secret-123456 short\n${"x".repeat(9990)}sk-very-secret-123456\n`);
    const { text } = await read({ path: "conf" });
    expect(text).toContain("key: [secret] short");
    expect(text).not.toMatch(/sk-v|123456/);
  });
});

describe("a stored output", () => {
  const stored = async (output: string) => {
    const at = await openRoom();
    const bytes = Buffer.from(output);
    const hash = createHash("sha256").update(bytes).digest("hex");
    const { home } = at;
    const session = await home.sessions.create({ person: OWNER });
    const part = { type: "file" as const, blob: hash, mimeType: "text/plain", size: bytes.length };
    await home.store.messages.append({
      asker: { person: OWNER },
      session: session.id,
      messages: [{ role: "tool", parts: [part], toolCallId: "c", toolName: "terminal" }],
      blobs: [{ hash, bytes }],
      now: home.clock.now(),
    });
    return { ...at, hash };
  };

  it("is read by its name, page by page", async () => {
    const { read, hash } = await stored(numbered(3000));
    const { text } = await read({ path: `output:${hash}`, offset: 2999 });
    expect(text).toBe("The output: 2,999 to 3,000 of 3,000 lines\nline 2999\nline 3000");
  });

  it("belongs to its owner only, and a wrong name finds none", async () => {
    const { home, context, hash } = await stored("mine");
    const other = readFileTool({ ...context, asker: { person: "p_other" } });
    const gone = { text: "This output does not exist or is no longer stored.", failed: true };
    expect(await called(other, { path: `output:${hash}` })).toEqual(gone);
    expect(await called(readFileTool(context), { path: `output:${"0".repeat(64)}` })).toEqual(gone);
    const group = readFileTool(
      buildToolContext(home, { asker: { person: OWNER, chat: "chat:telegram:-1" } }),
    );
    expect(await called(group, { path: `output:${hash}` })).toEqual(gone);
    expect((await called(readFileTool(context), { path: "output:../../etc/passwd" })).failed).toBe(true);
  });
});

describe("pages", () => {
  it("return all of a text, nothing twice, for any lines", () => {
    const line = fc.oneof(
      fc.string({ unit: "grapheme", maxLength: 40 }),
      fc.integer({ min: 9_000, max: 40_000 }).map((n) => "😀".repeat(n / 2)),
    );
    fc.assert(
      fc.property(
        fc.array(line, { minLength: 1, maxLength: 30 }),
        fc.integer({ min: 1, max: 7 }),
        (lines, limit) => {
          const text = lines.map((one) => one.replaceAll(/[\r\n]/g, "")).join("\n");
          const pieces: string[] = [];
          for (let offset: number | undefined = 1; offset !== undefined; ) {
            const page = paginateText(text, { offset, limit });
            expect(page.lines.length).toBeGreaterThan(0);
            expect(page.lines.every((one) => one.isWellFormed())).toBe(true);
            pieces.push(...page.lines);
            const next: string | undefined = /continue with offset (\d+)/.exec(page.head)?.[1];
            offset = next === undefined ? undefined : Number(next);
          }
          const whole = text.endsWith("\n") ? text.slice(0, -1) : text;
          expect(pieces.join("")).toBe(whole.replaceAll("\n", ""));
        },
      ),
      { numRuns: 60 },
    );
  });
});
