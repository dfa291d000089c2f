import type { Db } from "../connection.ts";
import { isRunning } from "../runners.ts";
import { count, type Finding, fine, warning } from "./findings.ts";

const BY_ITSELF = "The next program that starts takes over; postrider doctor --fix tidies up at once.";

/** Who runs, who fell, and what waits. None of it is damage. */
export function checkWork(db: Db, now: number): Finding[] {
  const runners = db.all<{ id: string; pid: number }>("select id, pid from runners");
  const living = runners.filter(({ id }) => isRunning(db, id, now));
  const dead = runners.length - living.length;
  const pids = living.map(({ pid }) => pid).join(", ");
  const stale = db
    .all<{ name: string; runner: string }>("select name, runner from leases where runner is not null")
    .filter(({ runner }) => !isRunning(db, runner, now));
  const waiting = db.get<{ n: number }>("select count(*) as n from inbox where state = 0")?.n ?? 0;
  const stranded =
    db.get<{ n: number }>(
      "select count(*) as n from inbox where state = 0 and conversation not in (select n from conversations)",
    )?.n ?? 0;
  return [
    dead > 0
      ? warning("runners", `${count(dead, "program")} ended without saying so.`, BY_ITSELF)
      : fine("runners", living.length === 0 ? "No program runs." : `Running: process ${pids}.`),
    stale.length > 0
      ? warning(
          "leases",
          `Held by programs that ended: ${stale.map(({ name }) => name).join(", ")}.`,
          BY_ITSELF,
        )
      : fine("leases", "Nothing is held by a program that ended."),
    stranded > 0
      ? warning(
          "inbox",
          `${count(stranded, "message")} wait in conversations that are not there.`,
          "They stay readable by export-person, but nobody answers them.",
        )
      : waiting > 0 && living.length === 0
        ? warning(
            "inbox",
            `${count(waiting, "message")} wait for an answer, and no program runs.`,
            "postrider answers them.",
          )
        : fine("inbox", waiting === 0 ? "Nothing waits." : `${count(waiting, "message")} wait their turn.`),
    checkProcesses(db, now),
  ];
}

/** A program may be on its way to its keeper for a moment. */
const ON_ITS_WAY_MS = 60_000;

/** Programs that agents have started, and whether somebody still looks after them. */
function checkProcesses(db: Db, now: number): Finding {
  const open = db.all<{ keeper: string | null; begun_at: number }>(
    "select keeper, begun_at from processes where state <> 'ended'",
  );
  const left = open.filter(({ keeper, begun_at }) =>
    keeper === null ? begun_at < now - ON_ITS_WAY_MS : !isRunning(db, keeper, now),
  );
  if (left.length > 0)
    return warning(
      "processes",
      `${count(left.length, "process", "processes")} of agents ran when what looks after them was killed.`,
      "When the next one starts, those that live are found again, and the others are marked as ended.",
    );
  return fine(
    "processes",
    open.length === 0
      ? "No process of an agent runs."
      : open.length === 1
        ? "1 process of agents runs."
        : `${open.length} processes of agents run.`,
  );
}
