import Database from "better-sqlite3";
import { buildIndexText } from "../src/core/search-terms.ts";
import { openWriter } from "../src/stores/sqlite/connection.ts";

export interface Filling {
  readonly file: string;
  readonly messages: number;
  /** Messages of one session. */
  readonly each?: number;
  /** False: as after an import or a kill, when the index has not caught up. */
  readonly indexed?: boolean;
}

const SEQS = 2 ** 24;
/** Of which sentences are made: a common word, rarer ones, and a number of its own. */
const WORDS =
  "the session keeps what people said and every answer arrives where it belongs although a process may stop".split(
    " ",
  );

/** The text of a message, a few hundred bytes of some fifty thousand words: `w<n>` is in one message of a thousand. */
export function textAt(n: number): string {
  const rare = (n * 7919) % 1000;
  return Array.from({ length: 40 }, (_, at) => {
    const chance = Math.imul(n * 64 + at, 0x9e3779b1) >>> 0;
    return at % 2 === 0 ? WORDS[chance % WORDS.length] : `t${chance % 50_000}`;
  })
    .concat(`w${rare}`, `message ${n}`)
    .join(" ");
}

/** What is kept of an answer besides its text; one in five has used a tool. */
function metaAt(n: number, seq: number): string {
  const toolCalls = [{ id: "c1", name: "look", arguments: "{}" }];
  return JSON.stringify({
    reasoning: `${textAt(n + 1)} ${textAt(n + 2)}`,
    tokens: 400,
    ...(seq % 10 === 0 && { toolCalls }),
  });
}

/** A database as large as years of use make it, in a few seconds: rows by SQL, as the store would have written them. */
export function fillDatabase({ file, messages, each = 100, indexed = true }: Filling): void {
  openWriter({ file }).close();
  const db = new Database(file);
  db.pragma("synchronous = OFF");
  db.exec("insert or ignore into profiles values ('main', 0); begin");
  const session = db.prepare(
    `insert into sessions (n, id, handle, kind, profile, owner, title, platform, config, created_at, last_at, next_seq,
       human_count, tool_call_count, indexed_seq)
     values (?, ?, ?, 'chat', 'main', 'owner', ?, 'local', '{"model":"m"}', ?, ?, ?, ?, ?, ?)`,
  );
  const message = db.prepare(
    "insert into messages (id, at, role, text, parts, meta) values (?, ?, ?, ?, null, ?)",
  );
  const words = db.prepare("insert into words(rowid, terms) values (?, ?)");
  const began = 1_700_000_000_000;
  let said = 0;
  for (let n = 1; said < messages; n += 1) {
    const count = Math.min(each, messages - said);
    let calls = 0;
    for (let seq = 1; seq <= count; seq += 1) {
      said += 1;
      const role = (seq + 1) % 2;
      if (role === 1 && seq % 10 === 0) calls += 1;
      const meta = role === 1 ? metaAt(said, seq) : null;
      const text = textAt(said);
      message.run(n * SEQS + seq, began + said, role, text, meta);
      if (indexed) words.run(n * SEQS + seq, buildIndexText(text));
    }
    const counts = [began + said - count + 1, began + said, count + 1, Math.ceil(count / 2), calls];
    session.run(n, `s${n}`, `h${n}`, `session ${n}`, ...counts, indexed ? count : 0);
  }
  db.exec("commit");
  db.close();
}

if (import.meta.filename === process.argv[1]) {
  const [file = "", messages = "100000", state = ""] = process.argv.slice(2);
  fillDatabase({ file, messages: Number(messages), indexed: state !== "unindexed" });
}
