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

/** Reports on background processes in the chats that started them, once, whichever gateway polls. */
export interface ProcessWatch {
  /** Sends the reports that are due. Resolves when they are stored. */
  poll(): Promise<void>;
  /** Starts nothing more; resolves when no report is in progress. */
  close(): Promise<void>;
}

/** How long the final report waits for the last edit of the progress message. */
const LAST_EDIT_MS = 60_000;

export function watchProcesses(flow: Flow): ProcessWatch {
  const { store, clock, runner, turns, log } = flow;
  const closing = new AbortController();
  const reporting = new Map<string, Promise<void>>();
  const claimWaiting = claimNext(flow);
  const message = processStatusMessage({ store, clock, signal: closing.signal });

  async function poll(): Promise<void> {
    if (closing.signal.aborted) return;
    const now = clock.now();
    const started: Promise<void>[] = [];
    for (const process of await store.processes.listWatchedProcesses()) {
      const { id, target } = process;
      const connected = flow.getConnection(target.platform);
      // A terminal or an editor reports on its own processes.
      if (connected === undefined || reporting.has(id) || closing.signal.aborted) continue;
      if (findDueReport(process, now) === undefined) continue;
      const done = report(connected, id)
        .catch((error: unknown) => {
          if (!isStoreClosed(error))
            log.error({ error, process: id }, "a report on a process failed; it is retried");
        })
        .finally(() => reporting.delete(id));
      reporting.set(id, done);
      started.push(done);
    }
    await Promise.all(started);
  }

  async function report(connected: PlatformConnection, id: string): Promise<void> {
    // Read again: another poll may have reported it since.
    const process = await store.processes.getProcess({ asker: SYSTEM, id });
    if (process === undefined) return;
    const kind = findDueReport(process, clock.now());
    const output = await readProcessTail(store, process);
    if (kind === "progress") await reportProgress(connected, process, output);
    else if (process.status.state === "ended") await reportEnd(connected, process, output, kind);
    else if (kind === "matched") await reportMatches(connected, process, output);
  }

  /** One message that is edited, so that it notifies nobody again. */
  async function reportProgress(
    connected: PlatformConnection,
    process: Process,
    output: ProcessTail,
  ): Promise<void> {
    const text = formatProgress(process, output.text, clock.now());
    const result: StatusUpdateResult = await message.update(connected, process, text);
    if (result === "later") return;
    const mark = { ...buildProcessReport(process, output.total), matches: process.reported.matches };
    if (result === "shown") await store.processes.markProcessReported({ ...mark, now: clock.now() });
    else await send(connected, process, text, { ...mark, isProgress: true });
  }

  async function reportMatches(
    connected: PlatformConnection,
    process: Process,
    output: ProcessTail,
  ): Promise<void> {
    const isShown = hasProgressMessage(process) && process.reported.progress !== undefined;
    // The progress message is updated, too: the next report counts from here.
    const upTo = isShown ? output.total : process.reported.upTo;
    await send(connected, process, formatMatches(toPlainMatches(process)), buildProcessReport(process, upTo));
    if (isShown) await message.update(connected, process, formatProgress(process, output.text, clock.now()));
  }

  async function reportEnd(
    connected: PlatformConnection,
    process: Process,
    output: ProcessTail,
    kind: ReturnType<typeof findDueReport>,
  ): Promise<void> {
    if (kind === undefined) return;
    const { status, reported, watch } = process;
    if (reported.progress !== undefined) {
      // Before the end is marked as reported: after a crash in between, repeating the edit shows nothing new.
      const result = await message.update(connected, process, formatEndLine(process));
      const isYoung = status.state === "ended" && Math.abs(clock.now() - status.at) < LAST_EDIT_MS;
      if (result === "later" && isYoung) return;
    }
    const mark = buildProcessReport(process, output.total);
    const ended = formatEnd(toPlainMatches(process), output.text);
    if (watch.wakes) {
      if ((await wake(process, output)) !== "elsewhere") return;
      if (watch.mode !== "off") {
        await send(connected, process, `${ended}\n\n${await explainNotWoken(store, process)}`, mark);
        return;
      }
    }
    if (kind === "ended") await send(connected, process, ended, mark);
    else if (kind === "matched") await send(connected, process, formatMatches(toPlainMatches(process)), mark);
    else await store.processes.markProcessReported({ ...mark, now: clock.now() });
  }

  /** The agent answers in the session of the process. A turn that runs there ends first. */
  async function wake(process: Process, output: ProcessTail): Promise<"woken" | "elsewhere" | "told"> {
    const woken = await store.processes.wakeAgent({
      process: process.id,
      message: buildWakeMessage(process, output),
      claim: { runner, take: "one" },
      now: clock.now(),
    });
    if (woken.state !== "woken") return woken.state;
    const { session, turn } = woken;
    if (turn !== undefined) runInBackground(log, "a turn after the end of a process", turns.run(turn));
    else {
      const [conversation] = (await store.conversations.findConversations({ asker: SYSTEM, session })).filter(
        ({ number }) => number === process.conversation,
      );
      if (conversation !== undefined)
        runInBackground(log, "a turn after the end of a process", claimWaiting(session, conversation));
    }
    return "woken";
  }

  async function send(
    { platform, outbox }: PlatformConnection,
    process: Process,
    text: string,
    mark: ProcessReport,
  ): Promise<void> {
    const { target, session } = process;
    const deliveries = buildTextDeliveries(target, text, { traits: platform.traits });
    const quiet = mark.isProgress === true;
    await outbox.enqueue(
      target,
      quiet ? deliveries.map((delivery) => ({ ...delivery, quiet })) : deliveries,
      {
        session,
        processReport: mark,
      },
    );
  }

  return {
    poll,
    async close() {
      closing.abort();
      await Promise.all(reporting.values());
    },
  };
}
