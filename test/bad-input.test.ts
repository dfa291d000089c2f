import { spawnSync } from "node:child_process";
import {
  chmodSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { basename, dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import Database from "better-sqlite3";
import fc from "fast-check";
import { beforeAll, beforeEach, describe, expect, it, onTestFinished } from "vitest";
import {
  createSessions,
  MAX_PART_BYTES,
  type Message,
  OWNER,
  PostriderError,
  type Sessions,
  type Store,
  sqliteStore,
} from "../src/index.ts";
import { indexed } from "./support/database.ts";
import { temporaryFolder } from "./support/folder.ts";
import { seeded } from "./support/random.ts";
import { schedule } from "./support/schedule.ts";

const who = { person: OWNER };
const MODES = schedule(["workers"] as const, ["workers", "in-process"] as const);

/** The error of a promise that must reject, with the fields of every error of Postrider. */
async function getRefusal(promise: Promise<unknown>): Promise<PostriderError> {
  const error: unknown = await promise.then(
    (value) => expect.fail(`resolved with ${JSON.stringify(value)?.slice(0, 200)}`),
    (reason: unknown) => reason,
  );
  expect(error).toBeInstanceOf(PostriderError);
  const { message, code } = error as PostriderError;
  expect(message, code).toMatch(/^[^\p{Cc}\p{Cs}\u2028\u2029\u202a-\u202e]{10,500}\.$/u);
  return error as PostriderError;
}

function folderOf(): string {
  const folder = temporaryFolder();
  onTestFinished(() => folder.remove());
  return folder.path;
}

async function writeSample(file: string): Promise<void> {
  const store = await sqliteStore({ file, mode: "in-process" });
  const sessions = createSessions({ store });
  await sessions.create(who, { id: "talk" });
  for (let n = 0; n < 20; n += 1) {
    await sessions.append(who, "talk", { role: "user", text: `${n} ${"word ".repeat(2000)}` });
  }
  await store.close();
}

describe.each(MODES)("an invalid database file (%s)", (mode) => {
  let sample: string;
  beforeAll(async () => {
    const folder = temporaryFolder();
    sample = join(folder.path, "sample.db");
    await writeSample(sample);
    return () => folder.remove();
  });

  const size = (): number => statSync(sample).size;
  it.each<[what: string, code: string, harm: (file: string) => void]>([
    ["garbage", "corrupt", (file) => writeFileSync(file, garbage(100_000))],
    ["a text", "corrupt", (file) => writeFileSync(file, "Dear diary,\n".repeat(1000))],
    ["one byte", "corrupt", (file) => writeFileSync(file, "x")],
    ["an empty file", "corrupt", (file) => writeFileSync(file, "")],
    ["cut off in the middle", "corrupt", (file) => truncateSync(copySample(file), Math.floor(size() / 2))],
    ["cut off after the header", "corrupt", (file) => truncateSync(copySample(file), 100)],
    ["with a damaged first line", "corrupt", (file) => overwrite(copySample(file), 0, garbage(16))],
    [
      "with a damaged page size",
      "corrupt",
      (file) => overwrite(copySample(file), 16, Buffer.from([0xff, 0xff])),
    ],
    ["with a damaged schema", "corrupt", (file) => overwrite(copySample(file), 100, garbage(3996))],
    ["with a newer schema", "newer_schema", (file) => change(copySample(file), "pragma user_version = 99")],
    [
      "another program's",
      "corrupt",
      (file) => change(file, "create table recipes (name text); insert into recipes values ('soup')"),
    ],
    [
      "another program's, with its own version",
      "corrupt",
      (file) =>
        change(file, "create table recipes (name text); pragma user_version = 1; pragma application_id = 7"),
    ],
  ])("is refused and not changed: %s", async (_what, code, harm) => {
    const file = join(folderOf(), "postrider.db");
    harm(file);
    const before = readFileSync(file);
    const error = await getRefusal(sqliteStore({ file, mode }));
    expect(error.code).toBe(code);
    expect(error.message).toContain("postrider.db");
    expect(readFileSync(file).equals(before)).toBe(true);
    // Neither a new database nor a partial one.
    expect(readdirSync(dirname(file)).filter((name) => name.includes(".new-"))).toEqual([]);
    // A second attempt changes nothing either.
    expect((await getRefusal(sqliteStore({ file, mode }))).code).toBe(code);
    expect(readFileSync(file).equals(before)).toBe(true);
  });

  it("with damaged pages reports them, returns the intact messages, and is not changed", async () => {
    const file = join(folderOf(), "postrider.db");
    copySample(file);
    const store = await sqliteStore({ file, mode });
    const sessions = createSessions({ store });
    await sessions.create(who, { id: "other" });
    await sessions.append(who, "other", { role: "user", text: "whole" });
    await indexed(file); // or the store below would write the index
    await store.close();
    // Only the overflow pages of long texts: a page that starts with 13 is a leaf, which other messages share.
    const bytes = readFileSync(file);
    for (let at = 4096; at < bytes.length; at += 4096) {
      const page = bytes.subarray(at, at + 4096);
      if (page[0] !== 13 && page.includes("word word word")) garbage(4096).copy(page);
    }
    writeFileSync(file, bytes);
    const opened = await sqliteStore({ file, mode });
    onTestFinished(() => opened.close());
    const again = createSessions({ store: opened });
    expect((await getRefusal(again.history(who, "talk"))).code).toBe("corrupt");
    expect((await getRefusal(again.messages(who, "talk"))).code).toBe("corrupt");
    expect((await getRefusal(again.export(who, "talk"))).code).toBe("corrupt");
    expect(await again.history(who, "other")).toMatchObject([{ parts: [{ text: "whole" }] }]);
    await opened.close();
    expect(readFileSync(file).equals(bytes)).toBe(true);
  });

  it("is refused if it is a folder", async () => {
    const file = join(folderOf(), "postrider.db");
    mkdirSync(file);
    expect((await getRefusal(sqliteStore({ file, mode }))).code).toBe("read_only");
    expect(readdirSync(file)).toEqual([]);
  });

  it("is not created in a missing folder", async () => {
    const file = join(folderOf(), "missing", "postrider.db");
    expect((await getRefusal(sqliteStore({ file, mode }))).code).toBe("read_only");
    expect(existsSync(dirname(file))).toBe(false);
  });

  it("is not created beside the write-ahead log of a missing database", async () => {
    const file = join(folderOf(), "postrider.db");
    const log = garbage(5000);
    writeFileSync(`${file}-wal`, log);
    expect((await getRefusal(sqliteStore({ file, mode }))).code).toBe("corrupt");
    expect(existsSync(file)).toBe(false);
    expect(readFileSync(`${file}-wal`).equals(log)).toBe(true);
  });

  it.each([null, undefined, 7, "", {}, [], "a\0b"])("is not created for the name %j", async (name) => {
    const options = { file: name as string, mode };
    expect((await getRefusal(sqliteStore(options))).code).toBe("invalid_input");
    expect((await getRefusal(sqliteStore(name as unknown as { file: string }))).code).toBe("invalid_input");
  });

  it.each([{ maxBytes: Number.NaN }, { maxBytes: -1 }, { maxBytes: "1" }, { mode: "threads" }])(
    "is not created for the option %j",
    async (option) => {
      const file = join(folderOf(), "postrider.db");
      const options = { file, mode, ...option } as unknown as { file: string };
      expect((await getRefusal(sqliteStore(options))).code).toBe("invalid_input");
      expect(existsSync(file)).toBe(false);
    },
  );

  function copySample(file: string): string {
    copyFileSync(sample, file);
    return file;
  }
});

describe("a folder that is not writable", () => {
  /** Opens the file in a process to which file permissions apply: root can write anywhere. */
  function openWithin(file: string): { readonly code: string; readonly message: string } {
    const program = fileURLToPath(new URL("./bad-input/open.ts", import.meta.url));
    const command = [process.execPath, program, file];
    if (process.getuid?.() === 0) {
      command.unshift("setpriv", "--bounding-set=-dac_override,-dac_read_search");
    }
    const [name = "", ...args] = command;
    const { stdout, stderr } = spawnSync(name, args, { encoding: "utf8" });
    expect(stderr).toBe("");
    return JSON.parse(stdout) as { code: string; message: string };
  }

  it("gets no database", () => {
    const folder = folderOf();
    chmodSync(folder, 0o555);
    const { code, message } = openWithin(join(folder, "postrider.db"));
    expect(code).toBe("read_only");
    expect(message).toMatch(/\.$/);
    expect(readdirSync(folder)).toEqual([]);
  });

  it("keeps its database unchanged, readable or not", async () => {
    const folder = folderOf();
    const file = join(folder, "postrider.db");
    await writeSample(file);
    const before = readFileSync(file);
    for (const rights of [0o444, 0o000]) {
      chmodSync(file, rights);
      chmodSync(folder, 0o555);
      expect(openWithin(file).code).toBe("read_only");
      expect(readFileSync(file).equals(before)).toBe(true);
      expect(readdirSync(folder)).toEqual([basename(file)]);
    }
  });
});

describe.each(MODES)("an argument of the sessions API (%s)", (mode) => {
  let store: Store;
  let sessions: Sessions;
  let stored: readonly Message[] | undefined;

  beforeAll(async () => {
    const folder = temporaryFolder();
    const file = join(folder.path, "postrider.db");
    store = await sqliteStore({ file, mode });
    sessions = createSessions({ store });
    await sessions.create(who, { id: "kept" });
    await sessions.append(who, "kept", [
      { role: "user", text: "remember this" },
      { role: "assistant", parts: [{ type: "file", mimeType: "text/plain", data: Buffer.from("bytes") }] },
    ]);
    stored = await sessions.history(who, "kept");
    return async () => {
      await store.close();
      const again = await sqliteStore({ file, mode });
      expect(await createSessions({ store: again }).history(who, "kept")).toEqual(stored);
      await again.close();
      folder.remove();
    };
  });
  // Stored data survives every refused call.
  beforeEach(() => {
    onTestFinished(async () => {
      expect(await sessions.history(who, "kept")).toEqual(stored);
      expect((await sessions.search(who, "remember"))[0]?.session).toBe("kept");
    });
  });

  // Each method with valid arguments; the tests replace one argument at a time by an invalid one.
  const message = { role: "user", text: "x" };
  const calls: Readonly<Record<keyof Sessions, readonly unknown[]>> = {
    open: [{ platform: "telegram", chatId: "1" }, {}],
    markShown: [1, { note: true }],
    create: [who, {}],
    append: [who, "talk", message],
    history: [who, "talk", {}],
    shownLength: [who, "talk"],
    ranges: [who, "talk"],
    messages: [who, "talk", {}],
    follow: [who, "talk", { after: 0 }],
    rewrite: [who, "talk", [message]],
    undo: [who, "talk"],
    redo: [who, "talk"],
    rewind: [who, "talk", { seq: 1 }],
    compress: [who, "talk", "summary", {}],
    versions: [who, "talk"],
    restore: [who, "talk", 1],
    fork: [who, "talk", {}],
    recordUsage: [who, "talk", { inputTokens: 1 }, {}],
    usageEntries: [who, "talk"],
    reset: [who, 1],
    switchTo: [who, 1, "talk"],
    title: [who, "talk", "title"],
    autoTitle: [who, "talk", "title", {}],
    findByTitle: [who, "title"],
    get: [who, "talk"],
    find: [who, "talk"],
    list: [who, {}],
    search: [who, "hello", {}],
    change: [who, "talk", { cwd: "/" }],
    archive: [who, "talk", false],
    remove: [who, "nothing"],
    prune: [who, {}],
    hold: [who, "talk", "name", 1],
    release: [who, "talk", "name"],
    hasOther: [who, "talk"],
    stats: [who],
    blob: [who, "0".repeat(64)],
    conversations: [who, "talk"],
    listConversations: [who, {}],
    decisions: [who, 1],
    export: [who, "talk"],
    import: [{ format: "none" }, {}],
  };
  const wrong: readonly unknown[] = [
    null,
    0,
    -1,
    1.5,
    Number.NaN,
    Number.POSITIVE_INFINITY,
    true,
    "",
    "\0",
    "\ud800",
    "x".repeat(1_000_000),
    {},
    { everyone: false },
    { person: "" },
    { person: 7 },
    { person: "\ud800" },
    { limit: -1, offset: "1", after: {}, keepLast: null, keep: 1.5 },
    { kind: "party", kinds: "chat", config: 7, title: 7, id: 7, session: 7, roles: [7], policy: 7 },
    [],
    [null],
    [[]],
    () => "x",
    10n,
    Symbol("x"),
  ];
  /** The promise of a method; for `follow`, the promise of its first message. */
  function callMethod(name: keyof Sessions, args: readonly unknown[]): Promise<unknown> {
    const method = sessions[name] as (...args: readonly unknown[]) => unknown;
    if (name === "follow") {
      const [asker, id, options] = args;
      const signal = AbortSignal.abort();
      const ended =
        Object.prototype.toString.call(options) === "[object Object]"
          ? { ...(options as object), signal }
          : options;
      return (method(asker, id, ended) as AsyncGenerator<unknown>).next();
    }
    const result = method(...args);
    expect(result).toBeInstanceOf(Promise);
    return result as Promise<unknown>;
  }

  it.each(Object.keys(calls) as (keyof Sessions)[])(
    "of any type is accepted or refused by %s",
    async (name) => {
      if ((await sessions.get(who, "talk")) === undefined) {
        await sessions.create(who, { id: "talk" });
        await sessions.append(who, "talk", { role: "user", text: "hello" });
        await sessions.open({ platform: "telegram", chatId: "1" });
      }
      const args = calls[name];
      let refused = 0;
      for (let place = 0; place < args.length; place += 1) {
        for (const value of wrong) {
          const outcome = callMethod(name, args.with(place, value));
          const settled = await outcome.then(
            () => "answered",
            (error: unknown) => error,
          );
          if (settled === "answered") continue;
          refused += 1;
          const shown = typeof value === "object" ? JSON.stringify(value) : String(value).slice(0, 20);
          const { code } = await getRefusal(Promise.reject(settled));
          // "internal" would mean that the case is not handled.
          expect(code, `${name}, argument ${place}: ${shown}`).toMatch(
            /^(invalid_input|not_found|too_large|title_taken|nothing_to_(un|re)do|ambiguous)$/,
          );
        }
      }
      expect(refused).toBeGreaterThan(8);
    },
  );

  it.each([
    null,
    7,
    "owner",
    [],
    {},
    { person: "" },
    { everyone: false },
    { everyone: 1 },
    { person: OWNER, chat: 7 },
  ])("cannot be %j as the asker", async (asker) => {
    const nobody = asker as { person: string };
    for (const read of [
      () => sessions.history(nobody, "kept"),
      () => sessions.list(nobody),
      () => sessions.search(nobody, "remember"),
      () => sessions.export(nobody, "kept"),
      () => sessions.find(nobody, "kept"),
      () => sessions.stats(nobody),
    ]) {
      expect((await getRefusal(read())).code).toBe("invalid_input");
    }
  });

  it("is refused as a part of 30 MB, as text and as bytes", async () => {
    const large = 30 * 1024 * 1024;
    const inputs = [
      { role: "user" as const, text: "x".repeat(large) },
      { role: "user" as const, text: "é".repeat(large / 2) },
      {
        role: "user" as const,
        parts: [{ type: "file" as const, mimeType: "a/b", data: new Uint8Array(large) }],
      },
      { role: "user" as const, parts: [{ type: "resource" as const, uri: "x:", text: "x".repeat(large) }] },
      { role: "user" as const, text: "x", extra: { large: "x".repeat(large) } },
      { role: "user" as const, text: "x", reasoning: "x".repeat(large) },
    ];
    for (const input of inputs) {
      expect((await getRefusal(sessions.append(who, "kept", input))).code).toBe("too_large");
      expect((await getRefusal(sessions.rewrite(who, "kept", [input]))).code).toBe("too_large");
    }
  });

  it("is stored at the maximum size", async () => {
    const data = Buffer.from(garbage(MAX_PART_BYTES));
    await sessions.create(who, { id: "large" });
    await sessions.append(who, "large", { role: "user", parts: [{ type: "file", mimeType: "a/b", data }] });
    const [said] = (await sessions.history(who, "large")) ?? [];
    const part = said?.parts[0];
    const bytes =
      part !== undefined && "blob" in part ? await sessions.blob(who, part.blob ?? "") : undefined;
    expect(bytes !== undefined && data.equals(bytes)).toBe(true);
    await sessions.remove(who, "large");
  });

  it.each([
    "../../etc/passwd",
    "..",
    ".hidden",
    "a/b",
    "a\\b",
    "C:\\x",
    "",
    " ",
    "a b",
    "a\0b",
    "a\nb",
    "a\u001b[31m",
    "\u202eabc",
    "a\u2028b",
    "\ud800",
    "ﬁle",
    "%2e%2e",
    "'; drop table messages; --",
    "x".repeat(10_000),
  ])("is refused as a session id: %j", async (id) => {
    expect((await getRefusal(sessions.create(who, { id }))).code).toBe("invalid_input");
    expect((await getRefusal(sessions.fork(who, "kept", { id }))).code).toBe("invalid_input");
    expect((await getRefusal(sessions.append(who, id, { role: "user", text: "x" }))).code).toBe(
      "invalid_input",
    );
    expect((await getRefusal(sessions.title(who, id, "x"))).code).toBe("invalid_input");
    expect(await sessions.history(who, id)).toBeUndefined();
    expect(await sessions.get(who, id)).toBeUndefined();
  });

  it.each([
    ["../../etc/passwd", "../../etc/passwd"],
    ["a\0b\u001b[31mc", "ab[31mc"],
    ["line one\r\nline two\u2028three", "line one line two three"],
    ["\u202eright\u202c to \u2066left\u2069", "right to left"],
    ["half \ud83d of a face", "half of a face"],
    ["zero\u200bwidth\ufeff", "zerowidth"],
  ])("is cleaned to one line as a title: %j", async (given, kept) => {
    await sessions.create(who, { id: "titled" });
    expect((await sessions.title(who, "titled", given)).title).toBe(kept);
    await sessions.remove(who, "titled");
  });

  it("is refused as a title if it is too long", async () => {
    expect((await getRefusal(sessions.title(who, "kept", "x".repeat(10_000)))).code).toBe("invalid_input");
    expect((await getRefusal(sessions.create(who, { title: "x".repeat(10_000) }))).code).toBe(
      "invalid_input",
    );
  });

  it.each([
    { platform: "Telegram!", chatId: "1" },
    { platform: "../telegram", chatId: "1" },
    { platform: "telegram" },
    { platform: "telegram", chatId: "a\0b" },
    { platform: "telegram", chatId: "a\nb" },
    { platform: "telegram", chatId: "\ud800" },
    { platform: "telegram", chatId: "x".repeat(10_000) },
    { platform: "telegram", chatId: 1e300 },
    { platform: "telegram", chatId: ["1"] },
    { platform: "telegram", chatId: "1", userId: { id: 1 } },
    { platform: "telegram", chatId: "1", threadId: "a\u2028b" },
  ])("is refused as a source: %j", async (from) => {
    expect((await getRefusal(sessions.open(from as { platform: string; chatId: string }))).code).toBe(
      "invalid_input",
    );
  });

  it("is a different chat for each spelling of a chat id", async () => {
    const ids = [
      "../1",
      "1/..",
      "1:2",
      "1%3A2",
      "\u202e12",
      "ﬁ",
      "fi",
      "é",
      "é".normalize("NFD"),
      "' or 1=1 --",
    ];
    const opened = await Promise.all(ids.map((chatId) => sessions.open({ platform: "sms", chatId })));
    expect(new Set(opened.map(({ session }) => session.id)).size).toBe(ids.length);
    expect(new Set(opened.map(({ conversation }) => conversation.key)).size).toBe(ids.length);
  });

  it("keeps every character of a text that the database can store", async () => {
    const said = [
      "a\0b",
      "\u001b[31mred",
      "\u202eright",
      "line\r\nline\u2028",
      "😀 é é",
      "%_'\"\\; --",
      "\ufeff",
      " ",
    ];
    await sessions.create(who, { id: "strange" });
    await sessions.append(
      who,
      "strange",
      [...said, "half \ud800 a face"].map((text) => ({ role: "user", text })),
    );
    const history = await sessions.history(who, "strange");
    expect(history?.map(({ parts: [part] }) => part?.type === "text" && part.text)).toEqual([
      ...said,
      "half \ufffd a face",
    ]);
    await sessions.remove(who, "strange");
  });

  it.each([
    '"',
    "'",
    "*",
    "-",
    "- -",
    "AND",
    "OR OR",
    "NOT",
    "NEAR(a b)",
    "a:b",
    "words:x",
    "{terms}: x",
    "^x",
    "((((",
    "a OR",
    '"unclosed',
    'x" OR 1=1 --',
    "%",
    "_",
    "\\",
    "\0",
    "\ud800",
    "\u202e",
    "😀",
    "don't C++ built-in",
    "-".repeat(10_000),
    "(".repeat(10_000),
    '"'.repeat(10_001),
    "a OR ".repeat(5000),
    "word ".repeat(20_000),
    "x".repeat(1_000_000),
  ])("is accepted as a search query: %j", async (query) => {
    const shown = query.length > 50 ? query.slice(0, 50) : query;
    expect(Array.isArray(await sessions.search(who, query)), shown).toBe(true);
  });

  it("is accepted as a search query for any text", async () => {
    await fc.assert(
      fc.asyncProperty(fc.string({ unit: "binary", maxLength: 40 }), async (query) => {
        expect(await sessions.search(who, query)).toBeInstanceOf(Array);
      }),
      { seed: 4, numRuns: 300 },
    );
  });

  it("with an unknown id returns nothing, and changes nothing", async () => {
    const id = "20260101_000000_00000000";
    expect(await sessions.history(who, id)).toBeUndefined();
    expect(await sessions.messages(who, id)).toBeUndefined();
    expect(await sessions.ranges(who, id)).toBeUndefined();
    expect(await sessions.find(who, id)).toBeUndefined();
    expect(await sessions.export(who, id)).toBeUndefined();
    expect(await sessions.versions(who, id)).toEqual([]);
    expect(await sessions.conversations(who, id)).toEqual([]);
    expect(await sessions.decisions(who, 999_999)).toEqual([]);
    expect(await sessions.blob(who, "0".repeat(64))).toBeUndefined();
    expect(await sessions.remove(who, id)).toBe(false);
    expect(await sessions.release(who, id, "x")).toBe(false);
    for (const change of [
      () => sessions.append(who, id, { role: "user", text: "x" }),
      () => sessions.rewrite(who, id, []),
      () => sessions.undo(who, id),
      () => sessions.redo(who, id),
      () => sessions.rewind(who, id, { seq: 1 }),
      () => sessions.compress(who, id, "x"),
      () => sessions.restore(who, id, 1),
      () => sessions.fork(who, id),
      () => sessions.recordUsage(who, id, {}),
      () => sessions.title(who, id, "x"),
      () => sessions.change(who, id, {}),
      () => sessions.archive(who, id),
      () => sessions.hold(who, id, "x", 1),
      () => sessions.reset(who, 999_999),
      () => sessions.follow(who, id)[Symbol.asyncIterator]().next(),
    ]) {
      expect((await getRefusal(change())).code).toBe("not_found");
    }
  });
});

describe.each(MODES)("a store (%s)", (mode) => {
  it("rejects every call as closed after it was closed", async () => {
    const file = join(folderOf(), "postrider.db");
    const store = await sqliteStore({ file, mode });
    const sessions = createSessions({ store });
    await sessions.create(who, { id: "kept" });
    const last = sessions.append(who, "kept", { role: "user", text: "just in time" });
    await Promise.all([store.close(), store.close()]);
    expect(await last).toEqual([1]);
    for (const call of [
      () => sessions.append(who, "kept", { role: "user", text: "too late" }),
      () => sessions.history(who, "kept"),
      () => sessions.messages(who, "kept"),
      () => sessions.list(who),
      () => sessions.search(who, "just"),
      () => sessions.open({ platform: "telegram", chatId: "1" }),
      () => sessions.remove(who, "kept"),
      () => sessions.stats(who),
      () => store.turns.listClaimable({ now: 0 }),
      () => store.turns.claim({ session: "kept", runner: "x", take: "one", now: 0 }),
      () => sessions.follow(who, "kept", { after: 0 })[Symbol.asyncIterator]().next(),
    ]) {
      expect((await getRefusal(call())).code).toBe("closed");
    }
    await store.close();
    const again = await sqliteStore({ file, mode });
    onTestFinished(() => again.close());
    expect(await createSessions({ store: again }).history(who, "kept")).toHaveLength(1);
  });

  it("shares its file with a second store", async () => {
    const file = join(folderOf(), "postrider.db");
    const stores = [await sqliteStore({ file, mode }), await sqliteStore({ file })];
    onTestFinished(async () => void (await Promise.all(stores.map((store) => store.close()))));
    const [one, other] = stores.map((store) => createSessions({ store }));
    await one?.create(who, { id: "talk" });
    await Promise.all(
      Array.from({ length: 50 }, (_, n) =>
        (n % 2 === 0 ? one : other)?.append(who, "talk", { role: "user", text: `${n}` }),
      ),
    );
    const history = await one?.history(who, "talk");
    expect(history).toHaveLength(50);
    expect(await other?.history(who, "talk")).toEqual(history);
    await stores[0]?.close();
    expect(await other?.append(who, "talk", { role: "user", text: "on my own" })).toEqual([51]);
  });
});

function garbage(length: number): Buffer {
  const random = seeded(length);
  const bytes = Buffer.alloc(length);
  for (let at = 0; at < length; at += 1) bytes[at] = random.between(0, 255);
  return bytes;
}

function overwrite(file: string, at: number, bytes: Buffer): void {
  const whole = readFileSync(file);
  bytes.copy(whole, at);
  writeFileSync(file, whole);
}

function change(file: string, sql: string): void {
  const db = new Database(file);
  db.exec(sql);
  db.close();
}
