import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { PassThrough } from "node:stream";
import Database from "better-sqlite3";
import { beforeEach, describe, expect, it, onTestFinished } from "vitest";
import { main } from "../src/apps/cli/main.ts";
import { getMemoryOwner } from "../src/core/memory.ts";
import {
  buildRouting,
  createSessions,
  localRunner,
  type SourceInput,
  type Store,
  sqliteStore,
  throwIfRefused,
} from "../src/index.ts";
import type { ErasureProgress } from "../src/ports/access-store.ts";
import { prepareMessages } from "../src/sessions/message-input.ts";
import type { SaidByTalker } from "./backup/writer.ts";
import { startChild } from "./support/child.ts";
import { cli, startCli } from "./support/cli.ts";
import { runCommand } from "./support/command.ts";
import { indexed, look } from "./support/database.ts";
import { temporaryFolder } from "./support/folder.ts";
import { settings } from "./support/routing.ts";

const everyone = { everyone: true } as const;
let folder: string;
let home: string;
let database: string;

beforeEach(() => {
  const temporary = temporaryFolder();
  onTestFinished(() => temporary.remove());
  folder = temporary.path;
  home = join(folder, "home");
  database = join(home, "postrider.db");
  mkdirSync(home, { mode: 0o700 });
});

/** Words that only Anna uses, in several scripts, each also in its indexed form. */
const ANNAS = [
  "Geheimwort",
  "geheimwort",
  "ΜΥΣΤΙΚΟ",
  "μυστικο",
  "тайнослов",
  "秘密基地",
  "靐",
  "ความลับ",
  "سرّي",
  "Anna Beispiel",
  "anna-4711",
  "anna-uuid",
];
const SAYS = "Geheimwort ΜΥΣΤΙΚΟ тайнослов 秘密基地靐 ความลับ سرّي";
const ANNA: SourceInput = {
  platform: "signal",
  chatId: "anna-4711",
  chatType: "dm",
  chatName: "Anna Beispiel",
  userId: "anna-4711",
  userIdAlt: "anna-uuid",
  userName: "Anna Beispiel",
};
const BOB: SourceInput = {
  platform: "signal",
  chatId: "bob-1",
  chatType: "dm",
  userId: "bob-1",
  userName: "Bob",
};
const group = (who: SourceInput): SourceInput => ({
  ...who,
  chatId: "riders",
  chatType: "group",
  chatName: "Riders",
});
const together = { ...settings, scope: { groupsPerUser: false } };

interface Told {
  readonly person: string;
  readonly state: string;
  readonly counts: Readonly<Record<string, number>>;
  readonly scrubbed: boolean;
  readonly copies: readonly string[];
  readonly copies_removed: readonly string[];
  readonly receipt: string;
}

async function turn(
  store: Store,
  runner: string,
  from: SourceInput,
  words: string,
  answer: string,
  id: string,
) {
  const file = {
    type: "file" as const,
    mimeType: "text/plain",
    name: `${words.slice(0, 10)}.txt`,
    data: Buffer.from(`${words} ${"in a file ".repeat(500)}`),
  };
  const { messages, blobs } = prepareMessages({
    role: "user",
    parts: [{ type: "text", text: words }, file],
    origin: {
      platform: "signal",
      platformMessageId: id,
      userId: String(from.userId),
      ...(from.userName ? { userName: from.userName } : {}),
    },
  });
  const [message] = messages;
  if (message === undefined) throw new Error("no message");
  const accepted = await store.inbox.accept({
    ...buildRouting(from, together),
    messageId: id,
    message,
    blobs,
    claim: { runner, take: "one" },
  });
  if (accepted.duplicate || accepted.tooMany !== undefined || accepted.turn === undefined)
    throw new Error("no turn");
  const { number, fence, target } = accepted.turn;
  const parts = [{ type: "text" as const, text: answer }];
  if (id.endsWith("0")) await approve(store, number, fence, words);
  throwIfRefused(
    await store.turns.finish({
      turn: number,
      fence,
      outcome: "done",
      messages: [
        {
          role: "assistant",
          parts: [],
          toolCalls: [{ id: "1", name: "look", arguments: { words } }],
          reasoning: answer,
        },
        { role: "tool", parts, toolCallId: "1" },
        { role: "assistant", parts },
      ],
      deliveries: [{ target, parts }],
      now: Date.now(),
    }),
  );
  return accepted.session.id;
}

async function approve(store: Store, turn: number, fence: number, words: string): Promise<void> {
  const now = Date.now();
  const request = { title: words, detail: words, pattern: words };
  const asked = await store.access.createApproval({ turn, fence, request, deadline: now + 1000, now });
  const { person, number: approval } = throwIfRefused(asked);
  throwIfRefused(await store.access.answerApproval({ person, approval, answer: "always", now }));
}

/** A requested code, a wrong guess, a role, and her chat as the home channel of the platform. */
async function admit(store: Store, person: string): Promise<void> {
  const now = Date.now();
  const asker = buildRouting(ANNA, settings).source;
  const code = { platform: "signal", salt: "s", hash: "h", everyMs: 1, maxPending: 1 };
  await store.access.requestPairing({ ...code, asker, expiresAt: now + 1000, now });
  await store.access.countGuess({ name: "signal:anna-4711", maxGuesses: 3, lockMs: 1, now });
  await store.access.setRole({ person, role: "member", now });
  await store.conversations.setHomeChannel({
    home: { platform: "signal", chatId: "anna-4711", name: "Anna Beispiel" },
    now,
  });
  for (const owner of [person, getMemoryOwner({ owner: person, audience: "chat:signal:riders" })]) {
    // Also in older versions.
    for (const change of [
      { action: "add", text: SAYS },
      { action: "replace", old: SAYS, text: `knows ${SAYS}` },
    ] as const)
      throwIfRefused(await store.memory.changeMemory({ owner, change, now }));
  }
  const change = { action: "add", text: "bobwords" } as const;
  throwIfRefused(await store.memory.changeMemory({ owner: "chat:signal:riders", change, now }));
}

/** Anna and Bob, in direct chats and in a group with a shared session, often enough that their texts share pages. */
async function createVillage(rounds: number): Promise<{ anna: string; shared: string }> {
  const store = await sqliteStore({ file: database });
  const sessions = createSessions({ store });
  const runner = localRunner();
  await store.runners.recordHeartbeat({ runner, now: Date.now() });
  let own = "";
  let shared = "";
  for (let n = 0; n < rounds; n += 1) {
    own = await turn(store, runner.id, ANNA, `${SAYS} ${n}`, `You said ${SAYS} ${n}`, `a${n}`);
    await turn(store, runner.id, BOB, `bobwords ${n}`, `You said bobwords ${n}`, `b${n}`);
    shared = await turn(store, runner.id, group(ANNA), `${SAYS} ${n}`, `In the group: ${SAYS}`, `ga${n}`);
    await turn(store, runner.id, group(BOB), `bobwords in the group ${n}`, "and to Bob", `gb${n}`);
  }
  const anna = (await sessions.get(everyone, own))?.owner ?? "";
  const who = { person: anna };
  await admit(store, anna);
  await sessions.title(everyone, shared, `About Geheimwort`);
  await sessions.create(who, {
    id: "annas",
    title: "Geheimwort",
    cwd: "/home/Geheimwort",
    config: { secret: "Geheimwort" },
  });
  await sessions.append(
    who,
    "annas",
    Array.from({ length: 40 }, (_, n) => ({ role: "user" as const, text: `${SAYS} ${n}` })),
  );
  await sessions.undo(who, "annas");
  await sessions.fork(who, "annas", { id: "bobs-fork" });
  await sessions.append(who, "bobs-fork", { role: "user", text: "bobwords in a fork" });
  await store.inbox.accept({
    ...buildRouting(group(ANNA), together),
    messageId: "waits",
    message: { role: "user", parts: [{ type: "text", text: SAYS }] },
  });
  await store.runners.retire({ runner: runner.id });
  await indexed(database);
  await store.close();
  // No command gives a fork to another person, but joined accounts can have one.
  const db = new Database(database);
  const bob = db.prepare("select person from accounts where user_id = 'bob-1'").pluck().get();
  db.prepare(
    "update sessions set owner = ?, title = null, cwd = null, config = null where id = 'bobs-fork'",
  ).run(bob);
  db.close();
  return { anna, shared };
}

function wordsIn(...files: string[]): string[] {
  return files.filter(existsSync).flatMap((file) => {
    const bytes = readFileSync(file);
    return ANNAS.filter((word) => bytes.includes(word));
  });
}

/** All data of Bob, as it is read. */
async function readBob(shared: string): Promise<unknown> {
  const store = await sqliteStore({ file: database, mode: "in-process" });
  try {
    const sessions = createSessions({ store });
    const found = await store.access.readPersonData({ platform: "signal", account: "bob-1" });
    const { items } = await sessions.list({ person: found?.person ?? "" });
    const own = [];
    for (const { id } of items) {
      if (id === "bobs-fork") continue;
      own.push(await sessions.export(everyone, id));
    }
    const inGroup = (await sessions.messages(everyone, shared))?.filter(({ parts }) =>
      parts.some((part) => part.type === "text" && /bobwords|to Bob/.test(part.text)),
    );
    return {
      found,
      own,
      inGroup,
      hits: (await sessions.search(everyone, "bobwords", { limit: 200 })).length,
    };
  } finally {
    await store.close();
  }
}

describe("postrider erase", () => {
  it("leaves none of a person's words in the database or its write-ahead log, and keeps the data of others", async () => {
    const { anna, shared } = await createVillage(40);
    expect(new Set(wordsIn(database))).toEqual(new Set(ANNAS));
    const before = await readBob(shared);
    const { code, out, err } = await cli(home, "erase", "signal:anna-uuid", "--yes", "--json");
    expect([code, err]).toEqual([0, ""]);
    expect(wordsIn(database, `${database}-wal`, `${database}-shm`)).toEqual([]);
    expect(await readBob(shared)).toEqual(before);

    const told = JSON.parse(out) as Told;
    expect(told).toMatchObject({
      person: anna,
      state: "done",
      scrubbed: true,
      copies: [],
      copies_removed: [],
    });
    expect(told.counts).toEqual({
      accounts: 1,
      sessions: 2,
      messages: 40 * 4 + 40,
      elsewhere: 40,
      attachments: 40,
      conversations: 1,
      decisions: 1,
      inbox: 41,
      turns: 80,
      deliveries: 80,
      processes: 0,
      pairings: 1,
      approvals: 8,
      allowed: 4,
      memories: 2,
    });
    // The receipt contains only the person's id, and only its owner can read it.
    expect(statSync(told.receipt).mode & 0o777).toBe(0o600);
    expect(wordsIn(told.receipt)).toEqual([]);
    expect(JSON.parse(readFileSync(told.receipt, "utf8"))).toMatchObject({
      state: "done",
      counts: told.counts,
    });

    look(database, (db) => {
      const one = (sql: string): unknown => db.prepare(sql).pluck().get();
      expect(one("pragma integrity_check")).toBe("ok");
      // In the group, rows and seqs stay: 8 messages a round, of which Anna's and the answers to her are empty.
      expect(
        one(
          "select count(*) from messages where id >> 24 = (select session from conversations where chat_id = 'riders')",
        ),
      ).toBe(320);
      expect(one("select count(*) from blobs")).toBe(40 * 2);
      expect(one("select count(*) from inbox where state = 0")).toBe(0);
    });
    expect(await runCommand(home, ["doctor", "--full"])).toMatchObject({ code: 0 });
    const fork = await sqliteStore({ file: database, mode: "in-process" });
    onTestFinished(() => fork.close());
    const kept = await createSessions({ store: fork }).history(everyone, "bobs-fork");
    expect(kept?.map(({ parts }) => parts)).toEqual([[{ type: "text", text: "bobwords in a fork" }]]);
    expect(await runCommand(home, ["erase", anna, "--yes"])).toMatchObject({ code: 3 });
  });

  it("names the copies that still contain the data, and removes them with --backups", async () => {
    await createVillage(2);
    mkdirSync(join(home, "backups"), { mode: 0o700 });
    const copies = [
      join(home, "backups", "postrider-20260315T040000Z.db"),
      `${database}.replaced-20260314T040000Z`,
      `${database}.schema-1.bak`,
    ].sort();
    for (const copy of copies) cpSync(database, copy);
    const first = await runCommand(home, ["erase", "signal:anna-4711", "--yes"]);
    expect(first.code).toBe(0);
    for (const copy of copies) {
      expect(first.out).toContain(`This copy still contains the data: ${copy}`);
      expect(wordsIn(copy)).not.toEqual([]);
    }
    expect(first.err).toContain("--backups");
    const second = await runCommand(home, ["erase", "signal:bob-1", "--yes", "--backups", "--json"]);
    expect(JSON.parse(second.out)).toMatchObject({ copies: [], copies_removed: copies });
    expect(readdirSync(home).sort()).toEqual(["backups", "postrider.db", "reports"]);
    expect(readdirSync(join(home, "backups"))).toEqual([]);
  });

  it("finishes in a second run after it was killed, with the counts of the first run", async () => {
    const { anna, shared } = await createVillage(60);
    const before = await readBob(shared);
    const counts = look(database, (db) => db.prepare("select count(*) from messages").pluck().get());
    let kills = 0;
    for (const until of [0.98, 0.9, 0.8]) {
      const { process: child, ended } = startCli(home, ["erase", anna, "--yes", "--json"]);
      const left = (): number =>
        look(
          database,
          (db) => db.prepare("select count(*) from messages where text is not null").pluck().get() as number,
        );
      // At any point in the middle; a faster run exits by itself.
      while (child.exitCode === null && left() > Number(counts) * 0.7 * until)
        await new Promise(setImmediate);
      child.kill("SIGKILL");
      if ((await ended).signal === "SIGKILL") kills += 1;
    }
    const { code, out } = await cli(home, "erase", anna, "--yes", "--json");
    // Killed before or after the last step, but before the file was cleaned: both are finished now.
    if (code === 3) expect(kills).toBeLessThan(3);
    else {
      expect(code).toBe(0);
      const told = JSON.parse(out) as Told;
      expect(told.counts).toMatchObject({ sessions: 2, messages: 60 * 4 + 40, elsewhere: 60, turns: 120 });
      expect(told.state).toBe("done");
    }
    expect(kills).toBeGreaterThan(0);
    expect(wordsIn(database, `${database}-wal`)).toEqual([]);
    expect(await readBob(shared)).toEqual(before);
    expect(readdirSync(join(home, "reports")).filter((name) => name.endsWith(".json"))).toHaveLength(1);
    expect(await runCommand(home, ["doctor"])).toMatchObject({ code: 0 });
  });

  it("finishes an erasure that was interrupted before the file was cleaned", async () => {
    const { anna } = await createVillage(3);
    const store = await sqliteStore({ file: database, mode: "in-process" });
    const data = await store.access.readPersonData({ person: anna });
    for (let step: ErasureProgress = { done: false }; !step.done; )
      step = throwIfRefused(
        await store.access.erasePerson({ person: anna, limit: 100, now: Date.now(), ...step }),
      );
    await store.close();
    mkdirSync(join(home, "reports"), { mode: 0o700 });
    const receipt = {
      person: anna,
      state: "begun",
      started_at: 5,
      finished_at: null,
      counts: data?.counts,
      scrubbed: false,
      copies: [],
      copies_removed: [],
    };
    writeFileSync(join(home, "reports", "erasure-20260315T092437Z.json"), JSON.stringify(receipt));
    const other = await runCommand(home, ["erase", "signal:anna-4711", "--yes"]);
    expect(other).toMatchObject({ code: 3 });
    expect(other.err).toContain(`postrider erase ${anna}`);
    const { code, out } = await cli(home, "erase", anna, "--yes", "--json");
    expect(code).toBe(0);
    expect(JSON.parse(out)).toMatchObject({ state: "done", started_at: 5, counts: data?.counts });
  });

  it("cleans the file while 64 sessions of another process write, and damages none of them", async () => {
    const { anna } = await createVillage(10);
    const talker = startChild(new URL("./backup/writer.ts", import.meta.url), [database]);
    onTestFinished(() => void talker.process.kill("SIGKILL"));
    await talker.heard<SaidByTalker>(({ step }) => step === "running");
    const { code, out } = await cli(home, "erase", anna, "--yes", "--json");
    expect([code, (JSON.parse(out) as Told).scrubbed]).toEqual([0, true]);
    expect(wordsIn(database, `${database}-wal`)).toEqual([]);
    talker.tell("stop");
    const stopped = await talker.heard<SaidByTalker>(({ step }) => step === "stopped");
    expect((await talker.ended).code).toBe(0);
    if (stopped.step !== "stopped") throw new Error("unreachable");
    const turns = stopped.finished.reduce((sum, count) => sum + count, 0);
    const answers = "select count(*) from messages where text like 'answer %'";
    expect(look(database, (db) => db.prepare(answers).pluck().get())).toBe(turns);
    expect(await runCommand(home, ["doctor", "--full"])).toMatchObject({ code: 0 });
  });

  it("erases thousands of messages, and the search of others still works", async () => {
    const { anna, shared } = await createVillage(2);
    const store = await sqliteStore({ file: database });
    await createSessions({ store }).append(
      { person: anna },
      "annas",
      Array.from({ length: 3000 }, (_, n) => ({ role: "user" as const, text: `${SAYS} ${n}` })),
    );
    await indexed(database);
    await store.close();
    const before = await readBob(shared);
    const { code, out } = await runCommand(home, ["erase", anna, "--yes", "--json"]);
    expect([code, (JSON.parse(out) as Told).counts.messages]).toEqual([0, 2 * 4 + 40 + 3000]);
    expect(wordsIn(database, `${database}-wal`)).toEqual([]);
    expect(await readBob(shared)).toEqual(before);
    expect(await runCommand(home, ["doctor", "--full"])).toMatchObject({ code: 0 });
  });

  it("asks for confirmation, and erases only if the id is typed", async () => {
    const { anna } = await createVillage(1);
    const before = look(database, (db) => db.prepare("select count(*) from messages").pluck().get());
    const count = (): unknown =>
      look(database, (db) => db.prepare("select count(*) from messages").pluck().get());
    for (const args of [
      ["erase", anna],
      ["erase", anna, "--json"],
    ]) {
      const { code, err } = await runCommand(home, args);
      expect(code).toBe(5);
      expect(err).toContain("--yes");
    }
    expect((await runTyped("yes\n", "erase", anna)).code).toBe(5);
    expect((await runTyped("", "erase", anna)).code).toBe(5);
    expect(count()).toBe(before);
    const { code, err, out } = await runTyped(`${anna}\n`, "erase", anna);
    expect(code).toBe(0);
    expect(err).toMatch(/permanently erases 2 sessions with 44 messages, 1 message in shared chats/);
    expect(out).toMatch(/contains no remnants/);
    expect(wordsIn(database)).toEqual([]);
  });

  it("reports an unknown person, and changes nothing", async () => {
    await createVillage(1);
    const before = readFileSync(database);
    for (const nobody of ["p_000000000000", "signal:nobody", "Anna Beispiel"])
      expect(await runCommand(home, ["erase", nobody, "--yes"])).toMatchObject({ code: 3, out: "" });
    expect(readFileSync(database).equals(before)).toBe(true);
  });
});

/** As in a terminal, with typed input. */
async function runTyped(text: string, ...args: string[]) {
  const input = Object.assign(new PassThrough(), { isTTY: true });
  const [output, notices] = [new PassThrough(), new PassThrough()];
  input.end(text);
  const code = await main(args, {
    input,
    output,
    notices,
    environment: { ...process.env, POSTRIDER_HOME: home },
    now: Date.now,
  });
  return { code, out: String(output.read() ?? ""), err: String(notices.read() ?? "") };
}

describe("postrider export-person", () => {
  it("writes all data of a person, and none of others", async () => {
    const { anna, shared } = await createVillage(3);
    const file = join(folder, "anna.jsonl");
    const { code, out, err } = await cli(home, "export-person", "signal:anna-4711", file, "--json");
    expect([code, err]).toEqual([0, ""]);
    expect(JSON.parse(out)).toEqual({
      person: anna,
      sessions: 2,
      messages: 3 * 4 + 40,
      elsewhere: 3,
      file,
      bytes: statSync(file).size,
    });
    expect(statSync(file).mode & 0o777).toBe(0o600);
    const text = readFileSync(file, "utf8");
    expect(text).not.toMatch(/bob/i);
    const [header, ...lines] = text
      .trimEnd()
      .split("\n")
      .map((line) => JSON.parse(line));
    expect(header).toMatchObject({
      format: "postrider.person",
      version: 1,
      person: anna,
      role: "member",
      accounts: [{ platform: "signal", id: "anna-4711", alt_id: "anna-uuid", name: "Anna Beispiel" }],
    });
    const kinds = (kind: string) => lines.filter((line) => line.kind === kind);
    expect(lines.filter((line) => line.format === "postrider.session")).toHaveLength(2);
    expect(kinds("said_elsewhere").map(({ message }) => message.session)).toEqual([shared, shared, shared]);
    for (const [kind, counted] of [
      ["conversation", "conversations"],
      ["decision", "decisions"],
      ["inbox", "inbox"],
      ["turn", "turns"],
      ["delivery", "deliveries"],
      ["pairing", "pairings"],
      ["approval", "approvals"],
      ["allowed", "allowed"],
      ["memory", "memories"],
    ] as const)
      expect(kinds(kind)).toHaveLength(header.counts[counted]);
    // Each session can be imported again.
    const store = await sqliteStore({ file: join(folder, "other.db"), mode: "in-process" });
    onTestFinished(() => store.close());
    const sessions = createSessions({ store });
    for (const line of lines) if (line.format === "postrider.session") await sessions.import(line);
    expect((await sessions.search(everyone, "秘密", { limit: 200 })).length).toBeGreaterThan(40);
  });

  it("overwrites a file only with --force, and reports an unknown person", async () => {
    await createVillage(1);
    const file = join(folder, "anna.jsonl");
    writeFileSync(file, "precious");
    expect(await runCommand(home, ["export-person", "signal:anna-4711", file])).toMatchObject({ code: 5 });
    expect(await runCommand(home, ["export-person", "signal:nobody", file, "--force"])).toMatchObject({
      code: 3,
    });
    expect(readFileSync(file, "utf8")).toBe("precious");
    expect(await runCommand(home, ["export-person", "signal:anna-4711", file, "--force"])).toMatchObject({
      code: 0,
    });
    expect(readdirSync(folder).sort()).toEqual(["anna.jsonl", "home"]);
  });
});
