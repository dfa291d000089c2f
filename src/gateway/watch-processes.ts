import { SYSTEM } from "../core/owner.ts";
import type { Process, ProcessReport } from "../core/process.ts";
import {
  buildProcessReport,
  findDueReport,
  formatEnd,
  formatEndLine,
  formatMatches,
  formatProgress,
  hasProgressMessage,
} from "../core/process-report.ts";
import { isStoreClosed } from "../turns/active-turns.ts";
import {
  buildWakeMessage,
  explainNotWoken,
  type ProcessTail,
  readProcessTail,
  toPlainMatches,
} from "../turns/process-output.ts";
import { buildTextDeliveries } from "../turns/text-deliveries.ts";
import { claimNext } from "./claim-next.ts";
import { type Flow, type PlatformConnection, runInBackground } from "./flow.ts";
import { processStatusMessage, type StatusUpdateResult } from "./process-status-message.ts";

/** What is told of programs in the chats that started them, once, whichever process looks. */
export interface ProcessWatch {
  /** Tells what is due. Resolves when that is stored. */
  poll(): Promise<void>;
  /** Begins nothing more; resolves when nothing is being told. */
  close(): Promise<void>;
}

/** So long the end of a program waits for the message that was edited while it ran to take its last text. */
const LAST_EDIT_MS = 60_000;

export function watchProcesses(flow: Flow): ProcessWatch {
  const { store, clock, runner, turns, log } = flow;
  const closing = new AbortController();
  const telling = new Map<string, Promise<void>>();
  const takeWaiting = claimNext(flow);
  const message = processStatusMessage({ store, clock, signal: closing.signal });

  async function look(): Promise<void> {
    if (closing.signal.aborted) return;
    const now = clock.now();
    const begun: Promise<void>[] = [];
    for (const process of await store.processes.listWatchedProcesses()) {
      const { id, target } = process;
      const connected = flow.getConnection(target.platform);
      // A terminal or an editor tells its own.
      if (connected === undefined || telling.has(id) || closing.signal.aborted) continue;
      if (findDueReport(process, now) === undefined) continue;
      const done = tell(connected, id)
        .catch((error: unknown) => {
          if (!isStoreClosed(error))
            log.error({ error, process: id }, "a chat could not be told of a program");
        })
        .finally(() => telling.delete(id));
      telling.set(id, done);
      begun.push(done);
    }
    await Promise.all(begun);
  }

  async function tell(connected: PlatformConnection, id: string): Promise<void> {
    // As it is by now: what was told since it was looked at is not told again.
    const process = await store.processes.getProcess({ asker: SYSTEM, id });
    if (process === undefined) return;
    const news = findDueReport(process, clock.now());
    const output = await readProcessTail(store, process);
    if (news === "progress") await tellProgress(connected, process, output);
    else if (process.status.state === "ended") await tellEnd(connected, process, output, news);
    else if (news === "matched") await tellMatched(connected, process, output);
  }

  /** One message, edited: nobody is called by it again and again. */
  async function tellProgress(
    connected: PlatformConnection,
    process: Process,
    output: ProcessTail,
  ): Promise<void> {
    const words = formatProgress(process, output.text, clock.now());
    const became: StatusUpdateResult = await message.update(connected, process, words);
    if (became === "later") return;
    const tells = { ...buildProcessReport(process, output.total), matches: process.reported.matches };
    if (became === "shown") await store.processes.markProcessReported({ ...tells, now: clock.now() });
    else await put(connected, process, words, { ...tells, isProgress: true });
  }

  async function tellMatched(
    connected: PlatformConnection,
    process: Process,
    output: ProcessTail,
  ): Promise<void> {
    const isShown = hasProgressMessage(process) && process.reported.progress !== undefined;
    // Its message while it runs is brought up to date, too: what it tells next is counted from here.
    const upTo = isShown ? output.total : process.reported.upTo;
    await put(connected, process, formatMatches(toPlainMatches(process)), buildProcessReport(process, upTo));
    if (isShown) await message.update(connected, process, formatProgress(process, output.text, clock.now()));
  }

  async function tellEnd(
    connected: PlatformConnection,
    process: Process,
    output: ProcessTail,
    news: ReturnType<typeof findDueReport>,
  ): Promise<void> {
    if (news === undefined) return;
    const { status, reported, watch } = process;
    if (reported.progress !== undefined) {
      // Before the end is marked as told: whoever falls in between does it again, and nothing is to be seen of that.
      const became = await message.update(connected, process, formatEndLine(process));
      const isYoung = status.state === "ended" && Math.abs(clock.now() - status.at) < LAST_EDIT_MS;
      if (became === "later" && isYoung) return;
    }
    const tells = buildProcessReport(process, output.total);
    const ended = formatEnd(toPlainMatches(process), output.text);
    if (watch.wakes) {
      if ((await wake(process, output)) !== "elsewhere") return;
      if (watch.mode !== "off") {
        await put(connected, process, `${ended}\n\n${await explainNotWoken(store, process)}`, tells);
        return;
      }
    }
    if (news === "ended") await put(connected, process, ended, tells);
    else if (news === "matched") await put(connected, process, formatMatches(toPlainMatches(process)), tells);
    else await store.processes.markProcessReported({ ...tells, now: clock.now() });
  }

  /** Its agent answers, in its own session alone. A turn that runs there comes to its end first. */
  async function wake(process: Process, output: ProcessTail): Promise<"woken" | "elsewhere" | "told"> {
    const woken = await store.processes.wakeAgent({
      process: process.id,
      message: buildWakeMessage(process, output),
      claim: { runner, take: "one" },
      now: clock.now(),
    });
    if (woken.state !== "woken") return woken.state;
    const { session, turn } = woken;
    if (turn !== undefined) runInBackground(log, "a turn after a program's end", turns.run(turn));
    else {
      const [conversation] = (await store.conversations.findConversations({ asker: SYSTEM, session })).filter(
        ({ number }) => number === process.conversation,
      );
      if (conversation !== undefined)
        runInBackground(log, "a turn after a program's end", takeWaiting(session, conversation));
    }
    return "woken";
  }

  async function put(
    { platform, outbox }: PlatformConnection,
    process: Process,
    words: string,
    tells: ProcessReport,
  ): Promise<void> {
    const { target, session } = process;
    const made = buildTextDeliveries(target, words, { traits: platform.traits });
    const quiet = tells.isProgress === true;
    await outbox.enqueue(target, quiet ? made.map((delivery) => ({ ...delivery, quiet })) : made, {
      session,
      processReport: tells,
    });
  }

  return {
    poll: look,
    async close() {
      closing.abort();
      await Promise.all(telling.values());
    },
  };
}
