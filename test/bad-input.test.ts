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

/** The error of a promise that must reject, in the form that every error of Postrider has. */
async function refusal(promise: Promise<unknown>): Promise<PostriderError> {
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

describe.each(MODES)("a file that is not a whole database (%s)", (mode) => {
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
    ["nothing at all", "corrupt", (file) => writeFileSync(file, "")],
    ["cut off in the middle", "corrupt", (file) => truncateSync(copied(file), Math.floor(size() / 2))],
    ["cut off after the header", "corrupt", (file) => truncateSync(copied(file), 100)],
    ["with a damaged first line", "corrupt", (file) => overwrite(copied(file), 0, garbage(16))],
    ["with a damaged page size", "corrupt", (file) => overwrite(copied(file), 16, Buffer.from([0xff, 0xff]))],
    ["with a damaged schema", "corrupt", (file) => overwrite(copied(file), 100, garbage(3996))],
    ["from the future", "newer_schema", (file) => change(copied(file), "pragma user_version = 99")],
    [
      "another program's",
      "corrupt",
      (file) => change(file, "create table recipes (name text); insert into recipes values ('soup')"),
    ],
    [
      "another program's, with a version of its own",
      "corrupt",
      (file) =>
        change(file, "create table recipes (name text); pragma user_version = 1; pragma application_id = 7"),
    ],
  ])("is refused and left as it is: %s", async (_what, code, harm) => {
    const file = join(folderOf(), "postrider.db");
    harm(file);
    const before = readFileSync(file);
    const error = await refusal(sqliteStore({ file, mode }));
    expect(error.code).toBe(code);
    expect(error.message).toContain("postrider.db");
    expect(readFileSync(file).equals(before)).toBe(true);
    // Neither a new database nor the beginnings of one.
    expect(readdirSync(dirname(file)).filter((name) => name.includes(".new-"))).toEqual([]);
    // Asking again changes nothing either.
    expect((await refusal(sqliteStore({ file, mode }))).code).toBe(code);
    expect(readFileSync(file).equals(before)).toBe(true);
  });

  it("says so when the damage is in the middle, gives what is whole, and leaves the file as it is", async () => {
    const file = join(folderOf(), "postrider.db");
    copied(file);
    const store = await sqliteStore({ file, mode });
    const sessions = createSessions({ store });
    await sessions.create(who, { id: "other" });
    await sessions.append(who, "other", { role: "user", text: "whole" });
    await indexed(file); // or the store below would write the index
    await store.close();
    // The pages on which long texts go on, and only those: what begins with 13 is a leaf, which others share.
    const bytes = readFileSync(file);
    for (let at = 4096; at < bytes.length; at += 4096) {
      const page = bytes.subarray(at, at + 4096);
      if (page[0] !== 13 && page.includes("word word word")) garbage(4096).copy(page);
    }
    writeFileSync(file, bytes);
    const opened = await sqliteStore({ file, mode });
    onTestFinished(() => opened.close());
    const again = createSessions({ store: opened });
    expect((await refusal(again.history(who, "talk"))).code).toBe("corrupt");
    expect((await refusal(again.messages(who, "talk"))).code).toBe("corrupt");
    expect((await refusal(again.export(who, "talk"))).code).toBe("corrupt");
    expect(await again.history(who, "other")).toMatchObject([{ parts: [{ text: "whole" }] }]);
    await opened.close();
    expect(readFileSync(file).equals(bytes)).toBe(true);
  });

  it("is refused when it is a folder", async () => {
    const file = join(folderOf(), "postrider.db");
    mkdirSync(file);
    expect((await refusal(sqliteStore({ file, mode }))).code).toBe("read_only");
    expect(readdirSync(file)).toEqual([]);
  });

  it("is not made when its folder is missing", async () => {
    const file = join(folderOf(), "missing", "postrider.db");
    expect((await refusal(sqliteStore({ file, mode }))).code).toBe("read_only");
    expect(existsSync(dirname(file))).toBe(false);
  });

  it("is not made beside the log of a database that is gone", async () => {
    const file = join(folderOf(), "postrider.db");
    const log = garbage(5000);
    writeFileSync(`${file}-wal`, log);
    expect((await refusal(sqliteStore({ file, mode }))).code).toBe("corrupt");
    expect(existsSync(file)).toBe(false);
    expect(readFileSync(`${file}-wal`).equals(log)).toBe(true);
  });

  it.each([null, undefined, 7, "", {}, [], "a\0b"])("is not made for the name %j", async (name) => {
    const options = { file: name as string, mode };
    expect((await refusal(sqliteStore(options))).code).toBe("invalid_input");
    expect((await refusal(sqliteStore(name as unknown as { file: string }))).code).toBe("invalid_input");
  });

  it.each([{ maxBytes: Number.NaN }, { maxBytes: -1 }, { maxBytes: "1" }, { mode: "threads" }])(
    "is not made for the option %j",
    async (option) => {
      const file = join(folderOf(), "postrider.db");
      const options = { file, mode, ...option } as unknown as { file: string };
      expect((await refusal(sqliteStore(options))).code).toBe("invalid_input");
      expect(existsSync(file)).toBe(false);
    },
  );

  function copied(file: string): string {
    copyFileSync(sample, file);
    return file;
  }
});

describe("a folder in which one may not write", () => {
  /** Opens the file in a process to which the rights of files apply: root, as it is, may write anywhere. */
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

  it("keeps the database that is in it, readable or not", async () => {
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

describe.each(MODES)("what a program gives (%s)", (mode) => {
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
  // Whatever was refused, what was stored before is still there.
  beforeEach(() => {
    onTestFinished(async () => {
      expect(await sessions.history(who, "kept")).toEqual(stored);
      expect((await sessions.search(who, "remember"))[0]?.session).toBe("kept");
    });
  });

  // Each method with arguments that are right; the tests put a wrong one in each place.
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
  /** A method's promise; of `follow`, its first message, which it does not wait for. */
  function called(name: keyof Sessions, args: readonly unknown[]): Promise<unknown> {
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
    "is answered or refused by %s, whatever its type",
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
          const outcome = called(name, args.with(place, value));
          const settled = await outcome.then(
            () => "answered",
            (error: unknown) => error,
          );
          if (settled === "answered") continue;
          refused += 1;
          const shown = typeof value === "object" ? JSON.stringify(value) : String(value).slice(0, 20);
          const { code } = await refusal(Promise.reject(settled));
          // "internal" would mean that nobody had thought of it.
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
  ])("is never shown to %j", async (asker) => {
    const nobody = asker as { person: string };
    for (const read of [
      () => sessions.history(nobody, "kept"),
      () => sessions.list(nobody),
      () => sessions.search(nobody, "remember"),
      () => sessions.export(nobody, "kept"),
      () => sessions.find(nobody, "kept"),
      () => sessions.stats(nobody),
    ]) {
      expect((await refusal(read())).code).toBe("invalid_input");
    }
  });

  it("is refused when it is a part of 30 MB, as text and as bytes", async () => {
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
      expect((await refusal(sessions.append(who, "kept", input))).code).toBe("too_large");
      expect((await refusal(sessions.rewrite(who, "kept", [input]))).code).toBe("too_large");
    }
  });

  it("is kept when it is as large as may be", async () => {
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
  ])("is no session's id: %j", async (id) => {
    expect((await refusal(sessions.create(who, { id }))).code).toBe("invalid_input");
    expect((await refusal(sessions.fork(who, "kept", { id }))).code).toBe("invalid_input");
    expect((await refusal(sessions.append(who, id, { role: "user", text: "x" }))).code).toBe("invalid_input");
    expect((await refusal(sessions.title(who, id, "x"))).code).toBe("invalid_input");
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
  ])("is a title that shows on one line: %j", async (given, kept) => {
    await sessions.create(who, { id: "titled" });
    expect((await sessions.title(who, "titled", given)).title).toBe(kept);
    await sessions.remove(who, "titled");
  });

  it("is no title when it is longer than anyone reads", async () => {
    expect((await refusal(sessions.title(who, "kept", "x".repeat(10_000)))).code).toBe("invalid_input");
    expect((await refusal(sessions.create(who, { title: "x".repeat(10_000) }))).code).toBe("invalid_input");
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
  ])("is no source: %j", async (from) => {
    expect((await refusal(sessions.open(from as { platform: string; chatId: string }))).code).toBe(
      "invalid_input",
    );
  });

  it("is another chat for every other spelling of its id, however strange", async () => {
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

  it("comes back as it was said, with every character that a database can hold", async () => {
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
  ])("is a search that finds something or nothing: %j", async (query) => {
    const shown = query.length > 50 ? query.slice(0, 50) : query;
    expect(Array.isArray(await sessions.search(who, query)), shown).toBe(true);
  });

  it("is a search, whatever the text", async () => {
    await fc.assert(
      fc.asyncProperty(fc.string({ unit: "binary", maxLength: 40 }), async (query) => {
        expect(await sessions.search(who, query)).toBeInstanceOf(Array);
      }),
      { seed: 4, numRuns: 300 },
    );
  });

  it("is answered by nothing when nobody knows the id, and changes nothing", async () => {
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
      expect((await refusal(change())).code).toBe("not_found");
    }
  });
});

describe.each(MODES)("a store (%s)", (mode) => {
  it("says that it is closed, to every call, after it was closed", async () => {
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
      expect((await refusal(call())).code).toBe("closed");
    }
    await store.close();
    const again = await sqliteStore({ file, mode });
    onTestFinished(() => again.close());
    expect(await createSessions({ store: again }).history(who, "kept")).toHaveLength(1);
  });

  it("shares its file with a second one", async () => {
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
