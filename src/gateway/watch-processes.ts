import { SYSTEM } from "../core/owner.ts";
import type { Process, TellProcess } from "../core/process.ts";
import {
  endedLine,
  endedText,
  isFollowed,
  matchedText,
  newsOf,
  progressText,
  tellingOf,
} from "../core/process-news.ts";
import { isClosed } from "../turns/closed.ts";
import { textDeliveries } from "../turns/outgoing.ts";
import { type Printed, printed, withPlainLines } from "../turns/process-output.ts";
import { wakeMessage, whyNotWoken } from "../turns/wake-words.ts";
import { type Connected, type Flow, inBackground } from "./flow.ts";
import { type Shown, shownMessage } from "./shown-message.ts";
import { takeBehind } from "./take-behind.ts";

/** What is told of programs in the chats that started them, once, whichever process looks. */
export interface ProcessWatch {
  /** Tells what is due. Resolves when that is stored. */
  look(): Promise<void>;
  /** Begins nothing more; resolves when nothing is being told. */
  close(): Promise<void>;
}

/** So long the end of a program waits for the message that was edited while it ran to take its last text. */
const LAST_EDIT_MS = 60_000;

export function watchProcesses(flow: Flow): ProcessWatch {
  const { store, clock, runner, turns, log } = flow;
  const closing = new AbortController();
  const telling = new Map<string, Promise<void>>();
  const takeWaiting = takeBehind(flow);
  const message = shownMessage({ store, clock, signal: closing.signal });

  async function look(): Promise<void> {
    if (closing.signal.aborted) return;
    const now = clock.now();
    const begun: Promise<void>[] = [];
    for (const process of await store.watchedProcesses()) {
      const { id, target } = process;
      const connected = flow.connected(target.platform);
      // A terminal or an editor tells its own.
      if (connected === undefined || telling.has(id) || closing.signal.aborted) continue;
      if (newsOf(process, now) === undefined) continue;
      const done = tell(connected, id)
        .catch((error: unknown) => {
          if (!isClosed(error)) log.error({ error, process: id }, "a chat could not be told of a program");
        })
        .finally(() => telling.delete(id));
      telling.set(id, done);
      begun.push(done);
    }
    await Promise.all(begun);
  }

  async function tell(connected: Connected, id: string): Promise<void> {
    // As it is by now: what was told since it was looked at is not told again.
    const process = await store.process({ asker: SYSTEM, id });
    if (process === undefined) return;
    const news = newsOf(process, clock.now());
    const output = await printed(store, process);
    if (news === "progress") await tellProgress(connected, process, output);
    else if (process.status.state === "ended") await tellEnd(connected, process, output, news);
    else if (news === "matched") await tellMatched(connected, process, output);
  }

  /** One message, edited: nobody is called by it again and again. */
  async function tellProgress(connected: Connected, process: Process, output: Printed): Promise<void> {
    const words = progressText(process, output.text, clock.now());
    const became: Shown = await message.show(connected, process, words);
    if (became === "later") return;
    const tells = { ...tellingOf(process, output.total), matches: process.told.matches };
    if (became === "shown") await store.tellProcess({ ...tells, now: clock.now() });
    else await put(connected, process, words, { ...tells, isProgress: true });
  }

  async function tellMatched(connected: Connected, process: Process, output: Printed): Promise<void> {
    const isShown = isFollowed(process) && process.told.progress !== undefined;
    // Its message while it runs is brought up to date, too: what it tells next is counted from here.
    const upTo = isShown ? output.total : process.told.upTo;
    await put(connected, process, matchedText(withPlainLines(process)), tellingOf(process, upTo));
    if (isShown) await message.show(connected, process, progressText(process, output.text, clock.now()));
  }

  async function tellEnd(
    connected: Connected,
    process: Process,
    output: Printed,
    news: ReturnType<typeof newsOf>,
  ): Promise<void> {
    if (news === undefined) return;
    const { status, told, watch } = process;
    if (told.progress !== undefined) {
      // Before the end is marked as told: whoever falls in between does it again, and nothing is to be seen of that.
      const became = await message.show(connected, process, endedLine(process));
      const isYoung = status.state === "ended" && Math.abs(clock.now() - status.at) < LAST_EDIT_MS;
      if (became === "later" && isYoung) return;
    }
    const tells = tellingOf(process, output.total);
    const ended = endedText(withPlainLines(process), output.text);
    if (watch.wakes) {
      if ((await wake(process, output)) !== "elsewhere") return;
      if (watch.mode !== "off") {
        await put(connected, process, `${ended}\n\n${await whyNotWoken(store, process)}`, tells);
        return;
      }
    }
    if (news === "ended") await put(connected, process, ended, tells);
    else if (news === "matched") await put(connected, process, matchedText(withPlainLines(process)), tells);
    else await store.tellProcess({ ...tells, now: clock.now() });
  }

  /** Its agent answers, in its own session alone. A turn that runs there comes to its end first. */
  async function wake(process: Process, output: Printed): Promise<"woken" | "elsewhere" | "told"> {
    const woken = await store.wake({
      process: process.id,
      message: wakeMessage(process, output),
      claim: { runner, take: "one" },
      now: clock.now(),
    });
    if (woken.state !== "woken") return woken.state;
    const { session, turn } = woken;
    if (turn !== undefined) inBackground(log, "a turn after a program's end", turns.run(turn));
    else {
      const [conversation] = (await store.conversations({ asker: SYSTEM, session })).filter(
        ({ number }) => number === process.conversation,
      );
      if (conversation !== undefined)
        inBackground(log, "a turn after a program's end", takeWaiting(session, conversation));
    }
    return "woken";
  }

  async function put(
    { platform, outbox }: Connected,
    process: Process,
    words: string,
    tells: TellProcess,
  ): Promise<void> {
    const { target, session } = process;
    const made = textDeliveries(target, words, { traits: platform.traits });
    const quiet = tells.isProgress === true;
    await outbox.put(target, quiet ? made.map((delivery) => ({ ...delivery, quiet })) : made, {
      session,
      tells,
    });
  }

  return {
    look,
    async close() {
      closing.abort();
      await Promise.all(telling.values());
    },
  };
}
