import type { Db } from "../connection.ts";
import { hasRunnerProcess } from "../runners.ts";
import { type Finding, formatCount, reportOk, reportWarning } from "./findings.ts";

const TAKEOVER_HINT = "The next program that starts takes over; postrider doctor --fix tidies up at once.";

/** Who runs, who fell, and what waits. None of it is damage. */
export function checkWork(db: Db, now: number): Finding[] {
  const runners = db.all<{ id: string; pid: number }>("select id, pid from runners");
  const living = runners.filter(({ id }) => hasRunnerProcess(db, id, now));
  const dead = runners.length - living.length;
  const pids = living.map(({ pid }) => pid).join(", ");
  const stale = db
    .all<{ name: string; runner: string }>("select name, runner from leases where runner is not null")
    .filter(({ runner }) => !hasRunnerProcess(db, runner, now));
  const waiting = db.get<{ n: number }>("select count(*) as n from inbox where state = 0")?.n ?? 0;
  const stranded =
    db.get<{ n: number }>(
      "select count(*) as n from inbox where state = 0 and conversation not in (select n from conversations)",
    )?.n ?? 0;
  return [
    dead > 0
      ? reportWarning("runners", `${formatCount(dead, "program")} ended without saying so.`, TAKEOVER_HINT)
      : reportOk("runners", living.length === 0 ? "No program runs." : `Running: process ${pids}.`),
    stale.length > 0
      ? reportWarning(
          "leases",
          `Held by programs that ended: ${stale.map(({ name }) => name).join(", ")}.`,
          TAKEOVER_HINT,
        )
      : reportOk("leases", "Nothing is held by a program that ended."),
    stranded > 0
      ? reportWarning(
          "inbox",
          `${formatCount(stranded, "message")} wait in conversations that are not there.`,
          "They stay readable by export-person, but nobody answers them.",
        )
      : waiting > 0 && living.length === 0
        ? reportWarning(
            "inbox",
            `${formatCount(waiting, "message")} wait for an answer, and no program runs.`,
            "postrider answers them.",
          )
        : reportOk(
            "inbox",
            waiting === 0 ? "Nothing waits." : `${formatCount(waiting, "message")} wait their turn.`,
          ),
    checkProcesses(db, now),
  ];
}

/** A program may be on its way to its keeper for a moment. */
const START_TIMEOUT_MS = 60_000;

/** Programs that agents have started, and whether somebody still looks after them. */
function checkProcesses(db: Db, now: number): Finding {
  const open = db.all<{ keeper: string | null; begun_at: number }>(
    "select keeper, begun_at from processes where state <> 'ended'",
  );
  const left = open.filter(({ keeper, begun_at }) =>
    keeper === null ? begun_at < now - START_TIMEOUT_MS : !hasRunnerProcess(db, keeper, now),
  );
  if (left.length > 0)
    return reportWarning(
      "processes",
      `${formatCount(left.length, "process", "processes")} of agents ran when what looks after them was killed.`,
      "When the next one starts, those that live are found again, and the others are marked as ended.",
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
