import { openReader, openWriter, type SqliteDb } from "../connection.ts";
import { MIGRATIONS } from "../schema.ts";
import { toStoreError } from "../store-errors.ts";
import { checkCounters } from "./counter-checks.ts";
import { type Finding, reportOk, reportProblem, reportWarning } from "./findings.ts";
import { checkIndex } from "./index-checks.ts";
import { openPostriderDatabase } from "./integrity.ts";
import { checkJson } from "./json-checks.ts";
import { type MessageSurvey, surveyMessages } from "./message-survey.ts";
import {
  checkAccess,
  checkBlobs,
  checkConversations,
  checkForeignKeys,
  checkOrphans,
  checkViews,
} from "./reference-checks.ts";
import { rebuildIndex, repairDatabase } from "./repair-database.ts";
import { checkUsage } from "./usage-checks.ts";
import { checkWork } from "./work-checks.ts";

const SALVAGE_HINT =
  "Restore a copy: postrider restore FILE --replace. Without one: postrider doctor --salvage saves all readable data.";

export type CheckDepth = "quick" | "usual" | "full";

type Check = readonly [name: string, run: () => Finding[]];

/** Checks a database without writing. Every problem becomes a finding, never an exception. */
export function checkDatabase(
  file: string,
  options: {
    readonly now: number;
    /** `quick` omits checks that read all messages or pages; `full` also reads every index entry and attachment. */
    readonly depth: CheckDepth;
    /** Called before each check: the number of finished checks, of all, and the name of the next. */
    onStep?(done: number, all: number, check: string): void;
  },
): Finding[] {
  const findings: Finding[] = [];
  let db: SqliteDb;
  try {
    const raw = openPostriderDatabase(file);
    const schema = Number(raw.pragma("user_version", { simple: true }));
    raw.close();
    findings.push(reportOk("database", `${file} is a database of Postrider.`));
    if (schema < MIGRATIONS.length) {
      const text = `Schema ${schema}; this Postrider writes ${MIGRATIONS.length}.`;
      return [...findings, reportWarning("schema", text, "The next start migrates it, after a backup copy.")];
    }
    findings.push(reportOk("schema", `Schema ${schema}.`));
    db = openReader(file);
  } catch (error) {
    const { code, message } = toStoreError(error, file);
    if (code === "newer_schema") return [reportProblem("schema", message, "Update Postrider.")];
    if (code === "incomplete_copy")
      return [reportProblem("database", message, "Finish the copy, or remove the file.")];
    return [
      reportProblem("database", message, code === "corrupt" ? SALVAGE_HINT : "Check that you may read it."),
    ];
  }
  try {
    // One snapshot for all checks: writes of other processes in between would look like contradictions.
    db.exec("begin");
    const checks = listChecks(db, options.depth, options.now);
    for (const [at, [name, run]] of checks.entries()) {
      options.onStep?.(at, checks.length, name);
      findings.push(...runCheck(name, run));
    }
    options.onStep?.(checks.length, checks.length, "");
    if (options.depth === "quick") findings.push(reportOk("depth", QUICK_NOTE));
    return findings;
  } finally {
    db.close();
  }
}

const QUICK_NOTE =
  "Quick check: pages, messages, counters, attachments and the search index were not checked. postrider doctor checks them, too.";

/** In the order of the report. Messages are read once, for all checks that need them. */
function listChecks(db: SqliteDb, depth: CheckDepth, now: number): readonly Check[] {
  let surveyed: MessageSurvey | undefined;
  const survey = (): MessageSurvey => {
    surveyed ??= surveyMessages(db);
    return surveyed;
  };
  const isQuick = depth === "quick";
  const isFull = depth === "full";
  const all: readonly (Check | false)[] = [
    !isQuick && ["integrity", () => [checkPages(db, isFull)]],
    ["foreign_keys", () => [checkForeignKeys(db)]],
    ["sessions", () => [checkOrphans(db)]],
    !isQuick && ["counters", () => checkCounters(db, survey())],
    !isQuick && ["usage", () => [checkUsage(db)]],
    !isQuick && ["views", () => [checkViews(db)]],
    ["conversations", () => [checkConversations(db)]],
    ["access", () => [checkAccess(db)]],
    ["json", () => checkJson(db, isQuick ? undefined : survey())],
    !isQuick && ["attachments", () => checkBlobs(db, survey(), isFull)],
    !isQuick && ["search_index", () => [checkIndex(db, survey(), isFull)]],
    ["runners", () => checkWork(db, now)],
  ];
  return all.filter((check) => check !== false);
}

function runCheck(check: string, run: () => Finding[]): Finding[] {
  try {
    return run();
  } catch (error) {
    const text = error instanceof Error ? error.message : String(error);
    return [reportProblem(check, `The check failed: ${text}.`, SALVAGE_HINT)];
  }
}

function checkPages(db: SqliteDb, full: boolean): Finding {
  let complaints: string[];
  try {
    complaints = db
      .rows(full ? "pragma integrity_check(20)" : "pragma quick_check(20)")
      .map(([text]) => String(text).replaceAll("\n", " ").replaceAll("*** in database main *** ", ""));
  } catch (error) {
    if (toStoreError(error, db.file).code !== "corrupt") throw error;
    complaints = [(error as Error).message];
  }
  if (complaints.length === 1 && complaints[0] === "ok")
    return reportOk("integrity", full ? "Every page and index is intact." : "Every page is intact.");
  const more = complaints.length > 1 ? ` (and ${complaints.length - 1} more)` : "";
  return reportProblem(
    "integrity",
    `The file is damaged: ${complaints[0]?.slice(0, 200)}${more}.`,
    SALVAGE_HINT,
  );
}

/** Restores derived data. Damage to the file itself is left as it is. */
export function fixDatabase(
  file: string,
  findings: readonly Finding[],
  options: { readonly now: number; onDone(text: string): void },
): void {
  if (
    findings.some(
      ({ check, state }) => state === "problem" && ["database", "schema", "integrity"].includes(check),
    )
  )
    return;
  const db = openWriter({ file });
  try {
    repairDatabase(db, options.now, options.onDone);
    if (findings.some(({ check, state }) => check === "search_index" && state === "problem"))
      options.onDone(rebuildIndex(db));
    db.pragma("wal_checkpoint(TRUNCATE)");
  } finally {
    db.close();
  }
}
