import type Database from "better-sqlite3";
import type { Findings } from "../kill/checker.ts";
import { look } from "../support/database.ts";

/** A typed line with its person and its number: `line a 17`. */
export interface TypedLine {
  readonly seat: string;
  readonly number: number;
}

export function lineText({ seat, number }: TypedLine): string {
  return `line ${seat} ${number}`;
}

export function answerText({ seat, number }: TypedLine): string {
  return `answer to ${seat} ${number}, in a few words`;
}

/** The output of one process until it was killed or exited. */
export interface Printed {
  readonly seat: string;
  /** The number of the first line that was typed into it. Answers to earlier lines belong to its recovery. */
  readonly from: number;
  readonly out: string;
}

export interface LineFindings extends Findings {
  /** Lines whose turn crashed in two processes: they are not retried, and have a notice. */
  readonly givenUp: string[];
}

interface Row {
  readonly id: number;
  readonly role: number;
  readonly text: string;
  readonly meta: string;
}

/** The notice of Postrider that it does not retry. */
export const GIVEN_UP: RegExp =
  /Postrider ended 2 times while this was being answered, so it was not tried again/;
const USER = 0;
const SEQS = 2 ** 24;

/** The stored lines by name, `a 17`: with a turn, or pending. */
export function storedLines(file: string): string[] {
  const atOneInstant = (db: Database.Database): string[] => {
    const taken = rows(db).filter(({ role }) => role === USER);
    const waiting = db.prepare("select message from inbox where state = 0").pluck().all() as string[];
    return [...taken.map(({ text }) => text), ...waiting].flatMap((text) => nameIn(text, "line") ?? []);
  };
  // Between two queries a line may get its turn, and would be missed by both.
  return look(file, (db) => db.transaction(() => atOneInstant(db))());
}

/** The same in the order of acceptance. */
const ACCEPTED = `select coalesce(i.message, m.text) from inbox i left join turns t on t.n = i.turn
  left join messages m on m.id = t.session * ${SEQS} + i.seq order by i.n`;

/**
 * Compares a home with the typed lines and the output: every stored line has its own answer, once, directly after it in
 * its session; the lines of a person are in the order of typing; and the output equals the stored answers.
 * `seen` are lines that were stored at some time, so they must be stored now.
 */
export function checkLines(file: string, seen: Iterable<string>, printed: readonly Printed[]): LineFindings {
  const findings: Findings = { lost: [], doubled: [], broken: [] };
  const givenUp: string[] = [];
  const { lost, doubled, broken } = findings;
  look(file, (db) => {
    for (const line of db.prepare("pragma integrity_check").pluck().all()) {
      if (line !== "ok") broken.push(`integrity_check: ${line}`);
    }
    const open = "select count(*) from turns where state = 'running'";
    const running = Number(db.prepare(open).pluck().get());
    if (running > 0) broken.push(`${running} turns still run`);
    const waiting = Number(db.prepare("select count(*) from inbox where state = 0").pluck().get());
    if (waiting > 0) lost.push(`${waiting} lines were never answered: they still wait`);
    const tried = new Set(db.prepare(TRIED).pluck().all() as number[]);
    checkAnswers(rows(db), tried, givenUp, findings);
    const accepted = db.prepare(ACCEPTED).pluck().all() as string[];
    checkOrder(
      accepted.flatMap((text) => nameIn(text, "line") ?? []),
      findings,
    );
  });

  const stored = storedLines(file);
  const times = Map.groupBy(stored, (name) => name);
  for (const [name, all] of times)
    if (all.length > 1) doubled.push(`line ${name} is stored ${all.length} times`);
  for (const name of new Set(seen)) if (!times.has(name)) lost.push(`line ${name} was stored and is gone`);
  checkPrinted(file, printed, findings);
  return { ...findings, givenUp };
}

/** Lines whose turn crashed twice. */
const TRIED = `select t.session * ${SEQS} + i.seq from turns t join inbox i on i.turn = t.n where t.attempt > 2`;

/** The lines of a person were accepted in order, without a gap. */
function checkOrder(names: readonly string[], { broken }: Findings): void {
  for (const [seat, own] of Map.groupBy(names.map(typed), (line) => line.seat)) {
    const numbers = own.map(({ number }) => number);
    const wrong = numbers.findIndex((number, at) => number !== at + 1);
    if (wrong < 0) continue;
    broken.push(`the lines of ${seat} are not in order: ${numbers.slice(Math.max(0, wrong - 2), wrong + 3)}`);
  }
}

function checkAnswers(
  all: readonly Row[],
  tried: ReadonlySet<number>,
  givenUp: string[],
  { lost, doubled, broken }: Findings,
): void {
  const answers = new Map<string, number>();
  for (const [session, messages] of Map.groupBy(all, ({ id }) => Math.floor(id / SEQS))) {
    let line: string | undefined;
    let lineId = 0;
    let found = 0;
    const last = new Map<string, number>();
    const close = (): void => {
      if (line !== undefined && found === 0) lost.push(`line ${line} has no answer in its session`);
      if (line !== undefined && found > 1) doubled.push(`line ${line} has ${found} answers`);
      found = 0;
    };
    for (const { id, role, text, meta } of messages) {
      if (role === USER) {
        close();
        line = nameIn(text, "line");
        lineId = id;
        const { seat, number } = typed(line ?? "");
        if (number <= (last.get(seat) ?? 0)) broken.push(`session ${session}: line ${line} stands too late`);
        last.set(seat, number);
        continue;
      }
      found += 1;
      if (text === "" && tried.has(lineId) && GIVEN_UP.test(meta)) {
        givenUp.push(line ?? "");
        continue;
      }
      const name = nameIn(text, "answer to");
      if (name === undefined)
        broken.push(`session ${session}: the answer to ${line} is ${JSON.stringify(text)}`);
      else if (name !== line)
        broken.push(`session ${session}: the answer to ${name} stands behind line ${line}`);
      else if (text !== answerText(typed(name))) broken.push(`the answer to ${name} is not whole: ${text}`);
      if (name !== undefined) answers.set(name, (answers.get(name) ?? 0) + 1);
    }
    close();
  }
  for (const [name, count] of answers)
    if (count > 1) doubled.push(`the answer to ${name} is stored ${count} times`);
}

/**
 * A complete line was printed after its answer was stored; a kill may leave a part of a line. Each process
 * prints only the answers to its own lines, in order; answers of its recovery were requested by nobody there.
 */
function checkPrinted(file: string, printed: readonly Printed[], { lost, doubled, broken }: Findings): void {
  const texts = look(file, (db) => new Set(rows(db).map(({ text }) => text)));
  const seen = new Set<string>();
  for (const { seat, from, out } of printed) {
    const lines = out.split("\n");
    const cutOff = lines.pop() ?? "";
    let last = from - 1;
    for (const text of lines.filter((line) => line !== "")) {
      const name = nameIn(text, "answer to");
      if (name === undefined || text !== answerText(typed(name))) {
        broken.push(`${seat} printed ${JSON.stringify(text)}`);
        continue;
      }
      if (!texts.has(text)) lost.push(`${seat} printed the answer to ${name}, which is not stored`);
      if (seen.has(name)) doubled.push(`the answer to ${name} was printed twice`);
      seen.add(name);
      const line = typed(name);
      if (line.seat !== seat || line.number <= last)
        broken.push(`${seat} printed the answer to ${name} when it should not`);
      last = line.number;
    }
    if (!isBeginning(cutOff)) broken.push(`${seat} printed ${JSON.stringify(cutOff)}`);
  }
}

function isBeginning(text: string): boolean {
  const [, name] = /^answer to (\w+ \d+), /.exec(text) ?? [];
  if (name !== undefined) return answerText(typed(name)).startsWith(text);
  return "answer to ".startsWith(text) || /^answer to \w+( \d*,?)?$/.test(text);
}

function rows(db: Database.Database): Row[] {
  const sql =
    "select id, role, coalesce(text, '') as text, coalesce(meta, '') as meta from messages order by id";
  return db.prepare(sql).all() as Row[];
}

function nameIn(text: string, before: "line" | "answer to"): string | undefined {
  return new RegExp(`${before} (\\w+ \\d+)`).exec(text)?.[1];
}

function typed(name: string): TypedLine {
  const [seat = "", number] = name.split(" ");
  return { seat, number: Number(number) };
}
