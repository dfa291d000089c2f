import { hasRunnerProcess } from "../../sql/runners.ts";
import type { SqliteDb } from "../connection.ts";
import { type Finding, formatCount, reportOk, reportWarning } from "./findings.ts";

const TAKEOVER_HINT = "The next Postrider process takes over; postrider doctor --fix cleans up at once.";

/** Running processes, crashed processes and pending messages. None of it is damage. */
export function checkWork(db: SqliteDb, now: number): Finding[] {
  const runners = db.all<{ id: string; pid: number }>("select id, pid from runners");
  const living = runners.filter(({ id }) => hasRunnerProcess(db, id, now));
  const dead = runners.length - living.length;
  const pids = living.map(({ pid }) => pid).join(", ");
  const stale = db
    .all<{ name: string; runner: string }>("select name, runner from leases where runner is not null")
    .filter(({ runner }) => !hasRunnerProcess(db, runner, now));
  const pending = db.get<{ n: number }>("select count(*) as n from inbox where state = 0")?.n ?? 0;
  const stranded =
    db.get<{ n: number }>(
      "select count(*) as n from inbox where state = 0 and conversation not in (select n from conversations)",
    )?.n ?? 0;
  return [
    dead > 0
      ? reportWarning(
          "runners",
          `${formatCount(dead, "Postrider process", "Postrider processes")} crashed.`,
          TAKEOVER_HINT,
        )
      : reportOk("runners", living.length === 0 ? "No Postrider process runs." : `Running: process ${pids}.`),
    stale.length > 0
      ? reportWarning(
          "leases",
          `Held by processes that ended: ${stale.map(({ name }) => name).join(", ")}.`,
          TAKEOVER_HINT,
        )
      : reportOk("leases", "No lease is held by a process that ended."),
    stranded > 0
      ? reportWarning(
          "inbox",
          `${formatCount(stranded, "message")} pending in missing conversations.`,
          "They stay readable by export-person, but get no answer.",
        )
      : pending > 0 && living.length === 0
        ? reportWarning(
            "inbox",
            `${formatCount(pending, "message")} pending, and no Postrider process runs.`,
            "Start postrider: it answers them.",
          )
        : reportOk(
            "inbox",
            pending === 0 ? "No message is pending." : `${formatCount(pending, "message")} pending.`,
          ),
    checkProcesses(db, now),
  ];
}

/** A new process may take a moment to reach its keeper. */
const START_TIMEOUT_MS = 60_000;

/** Processes of agents, and whether a keeper still supervises them. */
function checkProcesses(db: SqliteDb, now: number): Finding {
  const open = db.all<{ keeper: string | null; begun_at: number }>(
    "select keeper, begun_at from processes where state <> 'ended'",
  );
  const unsupervised = open.filter(({ keeper, begun_at }) =>
    keeper === null ? begun_at < now - START_TIMEOUT_MS : !hasRunnerProcess(db, keeper, now),
  );
  if (unsupervised.length > 0)
    return reportWarning(
      "processes",
      `${formatCount(unsupervised.length, "process", "processes")} of agents without a keeper: it was killed.`,
      "The next keeper takes over those that run, and marks the others as ended.",
    );
  return reportOk(
    "processes",
    open.length === 0
      ? "No process of an agent runs."
      : open.length === 1
        ? "1 process of agents runs."
        : `${open.length} processes of agents run.`,
  );
}
