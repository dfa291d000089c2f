import { randomUUID } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { join } from "node:path";
import Database from "better-sqlite3";
import { buildIndexText } from "../src/core/search-terms.ts";
import {
  buildRouting,
  DEFAULT_RESET,
  localRunner,
  type Message,
  OWNER,
  type Store,
  sqliteStore,
  systemClock,
  systemZone,
  throwIfRefused,
} from "../src/index.ts";
import { findTemporaryFolder } from "./temporary-files.ts";

export const folder: string = mkdtempSync(join(findTemporaryFolder(), "postrider-bench-"));
process.on("exit", () => rmSync(folder, { recursive: true, force: true }));

let files = 0;
export function newFile(): string {
  files += 1;
  return join(folder, `${files}.db`);
}

const WORDS =
  "the of a session message store is kept and every answer goes to where it belongs after restart with crash lease turn view piece".split(
    " ",
  );

/** About 400 bytes of words, made beforehand; one word is in most of them, some are in few. */
const TEXTS = Array.from({ length: 5000 }, (_, index) => {
  let words = `n${index}`;
  for (let i = 0; words.length < 392; i++)
    words += ` ${WORDS[(index * 7 + i * 13 + (i % 3) * index) % WORDS.length]}`;
  // In one piece: what was put together is else copied, and shrinks, when it is first used.
  return Buffer.from(words).toString();
});

export function text(index: number): string {
  return TEXTS[index % TEXTS.length] ?? "";
}

const settings = { zone: systemZone(), profile: "main", reset: DEFAULT_RESET, scope: {}, clock: systemClock };

/** Postrider through its public names: a turn is accept (which claims) and finish. */
export interface Subject {
  readonly store: Store;
  turn(conversation: number, index: number): Promise<void>;
}

export async function subject(file: string, mode: "workers" | "in-process"): Promise<Subject> {
  const store = await sqliteStore({ file, mode });
  const runner = localRunner();
  await store.runners.recordHeartbeat({ runner, now: Date.now() });
  const claim = { runner: runner.id, take: "one" } as const;
  return {
    store,
    async turn(conversation, index) {
      const accepted = await store.inbox.accept({
        ...buildRouting(chat(conversation), settings),
        messageId: randomUUID(),
        message: { role: "user", parts: [{ type: "text", text: text(index) }] },
        claim,
      });
      if (accepted.duplicate || accepted.tooMany !== undefined || accepted.turn === undefined)
        throw new Error("the turn did not begin");
      const { number, fence } = accepted.turn;
      const messages = [{ role: "assistant", parts: [{ type: "text", text: text(index + 1) }] }] as const;
      throwIfRefused(
        await store.turns.finish({ turn: number, fence, outcome: "done", messages, now: Date.now() }),
      );
    },
  };
}

function chat(conversation: number) {
  return { platform: "local", chatId: String(conversation), chatType: "dm" };
}

/** A file with this many conversations, each opened once. */
export async function seeded(conversations: number): Promise<string> {
  const file = newFile();
  const store = await sqliteStore({ file, mode: "in-process" });
  for (let at = 0; at < conversations; at += 500) {
    const count = Math.min(500, conversations - at);
    await Promise.all(
      Array.from({ length: count }, (_, i) => store.conversations.open(buildRouting(chat(at + i), settings))),
    );
  }
  await store.close();
  return file;
}

/** A session of this many messages in its own file. */
export async function filled(store: Store, messages: number): Promise<string> {
  const { session } = await store.conversations.open(buildRouting(chat(900_000 + messages), settings));
  for (let at = 0; at < messages; at += 500) {
    const count = Math.min(500, messages - at);
    const more = Array.from({ length: count }, (_, i) => ({
      role: i % 2 === 0 ? ("user" as const) : ("assistant" as const),
      parts: [{ type: "text" as const, text: text(at + i) }],
    }));
    throwIfRefused(
      await store.messages.append({
        asker: { person: OWNER },
        session: session.id,
        messages: more,
        now: Date.now(),
      }),
    );
  }
  return session.id;
}

/** What stands in the rows of a turn. */
export interface Rows {
  readonly platform: string;
  sourceOf(conversation: number): { readonly chatId: string };
  /** What is stored with a person's message besides the words. */
  originOf?(conversation: number, messageId: string): object;
  answerTo(index: number): string;
  /** Whether the answer leaves as a delivery, which a third commit settles. */
  readonly delivers: boolean;
}

const LOCAL_ROWS: Rows = {
  platform: "local",
  sourceOf: chat,
  answerTo: (index) => text(index + 1),
  delivers: false,
};

/**
 * The floor: the same rows, indexes and pragmas in a bare loop of prepared statements, two commits a turn, the
 * words indexed in the same chunks and as late. It routes nothing, checks nothing and knows its numbers beforehand.
 */
export function bare(
  file: string,
  rows: Rows = LOCAL_ROWS,
): {
  turn(conversation: number, index: number): void;
  /** The words of what was said since, in the same chunks as the store's, when nothing is timed. */
  index(): void;
  scan(session: number, count: number): unknown[];
  close(): void;
} {
  const db = new Database(file, { timeout: 0 });
  for (const pragma of [
    "journal_mode = WAL",
    "synchronous = FULL",
    "foreign_keys = ON",
    "temp_store = MEMORY",
    "wal_autocheckpoint = 4000",
    "secure_delete = ON",
  ]) {
    db.pragma(pragma);
  }
  const begin = db.prepare("begin immediate");
  const commit = db.prepare("commit");
  const insertInbox = db.prepare(
    "insert into inbox (profile, platform, chat_id, message_id, conversation, at, state, message, source, turn, seq) values ('main', ?, ?, ?, ?, ?, 1, null, ?, ?, ?)",
  );
  const insertTurn = db.prepare(
    "insert into turns (session, conversation, runner, fence, attempt, state, target, deadline, started_at) values (?, ?, 'r', ?, 1, 'running', ?, null, ?)",
  );
  const insertMessage = db.prepare(
    "insert into messages (id, at, role, text, parts, meta) values (?, ?, ?, ?, null, ?)",
  );
  const claim = db.prepare(
    "update sessions set next_seq = next_seq + 1, last_at = ?, human_count = human_count + 1, lease_holder = 'r', fence = fence + 1, origin = ?, ended_at = null where n = ? returning next_seq, fence",
  );
  const release = db.prepare(
    "update sessions set next_seq = next_seq + 1, last_at = ?, lease_holder = null where n = ? returning next_seq",
  );
  const touch = db.prepare("update conversations set active_at = max(active_at, ?) where n = ?");
  const doneInbox = db.prepare("update inbox set state = 2 where turn = ? and state = 1");
  const endTurn = db.prepare("update turns set state = 'done', ended_at = ? where n = ?");
  const deliver = db.prepare(
    "insert into deliveries (platform, session, turn, target, parts, state, attempts, next_at, runner, created_at) values (?, ?, ?, ?, ?, 'sending', 1, ?, 'r', ?)",
  );
  const settle = db.prepare(
    "update deliveries set state = 'sent', platform_message_id = ?, settled_at = ? where n = ?",
  );
  const words = db.prepare("insert into words (rowid, terms) values (?, ?)");
  const indexed = db.prepare("update sessions set indexed_seq = next_seq - 1 where n = ?");
  const scan = db.prepare(
    "select id, at, role, text, parts, meta from messages where id between ? and ? order by id",
  );
  const textOf = db.prepare("select text from messages where id = ?").pluck();
  let waiting: [id: number, session: number][] = [];
  const say = (
    [session, seq]: readonly [number, number],
    now: number,
    role: number,
    said: string,
    origin: object | undefined,
  ): void => {
    const meta = origin === undefined ? null : JSON.stringify({ origin });
    insertMessage.run(session * 16_777_216 + seq, now, role, said, meta);
    waiting.push([session * 16_777_216 + seq, session]);
  };
  const index = (): void => {
    for (let at = 0; at < waiting.length; at += 64) {
      begin.run();
      for (const [id, session] of waiting.slice(at, at + 64)) {
        words.run(id, buildIndexText(textOf.get(id) as string));
        indexed.run(session);
      }
      commit.run();
    }
    waiting = [];
  };
  return {
    turn(conversation, i) {
      // Sessions and conversations were opened in order, so both have the same number.
      const n = conversation + 1;
      const { chatId } = rows.sourceOf(conversation);
      const source = JSON.stringify(rows.sourceOf(conversation));
      const messageId = randomUUID();
      const now = Date.now();
      begin.run();
      const { next_seq, fence } = claim.get(now, source, n) as { next_seq: number; fence: number };
      const turn = insertTurn.run(n, n, fence, source, now).lastInsertRowid;
      say([n, next_seq - 1], now, 0, text(i), rows.originOf?.(conversation, messageId));
      insertInbox.run(rows.platform, chatId, messageId, n, now, source, turn, next_seq - 1);
      touch.run(now, n);
      commit.run();
      begin.run();
      const end = release.get(now, n) as { next_seq: number };
      const answer = rows.answerTo(i);
      say([n, end.next_seq - 1], now, 1, answer, undefined);
      doneInbox.run(turn);
      endTurn.run(now, turn);
      touch.run(now, n);
      const delivery = rows.delivers
        ? deliver.run(
            rows.platform,
            n,
            turn,
            source,
            JSON.stringify([{ type: "text", text: answer }]),
            now,
            now,
          ).lastInsertRowid
        : undefined;
      commit.run();
      if (delivery !== undefined) {
        begin.run();
        settle.run(messageId, now, delivery);
        commit.run();
      }
      if (waiting.length >= 8192) index();
    },
    index,
    scan: (session, count) => scan.all(session * 16_777_216 + 1, session * 16_777_216 + count),
    close: () => db.close(),
  };
}

export type { Message };
