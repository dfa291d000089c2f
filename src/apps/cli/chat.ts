import { randomUUID } from "node:crypto";
import { createInterface } from "node:readline";
import { echo } from "../../agents/echo.ts";
import { resetNotice } from "../../core/context-prompt.ts";
import type { Fresh } from "../../core/conversation.ts";
import { textOf } from "../../core/message.ts";
import { OWNER } from "../../core/owner.ts";
import { unrefused } from "../../core/refusal.ts";
import { DEFAULT_RESET_POLICY } from "../../core/reset-policy.ts";
import { HEARTBEAT_MS } from "../../core/runner.ts";
import { localSource } from "../../core/source.ts";
import type { Turn } from "../../core/turn.ts";
import type { Store } from "../../ports/store.ts";
import { readyMessages } from "../../sessions/message-input.ts";
import { DEFAULT_RESET, routingOf } from "../../sessions/routing.ts";
import { systemClock, systemZone } from "../../sessions/system-clock.ts";
import { localRunner } from "../../stores/sqlite/runners.ts";
import { sqliteStore } from "../../stores/sqlite/store.ts";
import { type Command, defineCommand } from "./command.ts";
import type { Io } from "./io.ts";
import { readyHome } from "./opening.ts";

const who = { person: OWNER };
const settings = { zone: systemZone(), profile: "main", reset: DEFAULT_RESET, scope: {}, clock: systemClock };

/** A line in, an answer out, until the input ends. Each line is accepted before it is answered. */
export const chat: Command = defineCommand({
  name: "",
  about: "Talks in the terminal.",
  examples: [["postrider", "talk in the terminal; Ctrl-D leaves"]],
  run: (_, io) => talk(io),
});

async function talk(io: Io): Promise<void> {
  const { input, output, notices } = io;
  const store = await sqliteStore({ file: readyHome(io).database });
  const runner = localRunner();
  const beat = (): Promise<void> => store.beat({ runner, now: Date.now() });
  await beat();
  const heart = setInterval(
    () => void beat().catch((error: Error) => notices.write(`postrider: ${error.message}\n`)),
    HEARTBEAT_MS,
  );
  const claim = { runner: runner.id, take: "one" } as const;
  const say = (text: string): void => void output.write(`${text}\n`);
  try {
    // What a killed process had accepted is answered first.
    for (const session of await store.work({ now: Date.now() })) {
      for (const text of await runTurns(store, await claimIn(store, session, claim), claim)) say(text);
    }
    const isTerminal = input.isTTY === true;
    const lines = createInterface({ input, ...(isTerminal && { output, prompt: "> " }) });
    if (isTerminal) {
      notices.write("Postrider: say something; Ctrl-D leaves. Everything is kept.\n");
      lines.prompt();
    }
    for await (const line of lines) {
      if (line.trim() !== "") {
        const { fresh, turn, ...asked } = await accept(store, line, claim);
        if (fresh?.noticeDue) notices.write(`${noticeOf(fresh)}\n`);
        await runTurns(store, turn, claim);
        say(await answerTo(store, asked, claim));
      }
      if (isTerminal) lines.prompt();
    }
  } finally {
    clearInterval(heart);
    await store.retire({ runner: runner.id });
    await store.close();
  }
}

type Claiming = { readonly runner: string; readonly take: "one" };

function claimIn(store: Store, session: string, claim: Claiming): Promise<Turn | undefined> {
  return store.claim({ session, ...claim, now: Date.now() });
}

async function accept(store: Store, line: string, claim: Claiming) {
  const messageId = randomUUID();
  const origin = { platform: "local", platformMessageId: messageId };
  const [message] = readyMessages({ role: "user", text: line, origin }).messages;
  if (message === undefined) throw new Error("a line became no message");
  const accepted = await store.accept({ ...routingOf(localSource(), settings), messageId, message, claim });
  if (accepted.duplicate) throw new Error("a new line was taken for an old one");
  const { turn, fresh, session } = accepted;
  return { turn, fresh, session: session.id, after: session.messageCount - 1, messageId };
}

/** Answers a turn and whatever waits behind it, here or from another terminal; each reads its own answers. */
async function runTurns(store: Store, first: Turn | undefined, claim: Claiming): Promise<string[]> {
  const answers: string[] = [];
  for (let turn = first; turn !== undefined; ) {
    const text = echo((await store.history({ asker: who, session: turn.session })) ?? []);
    const finished = unrefused(
      await store.finish({
        turn: turn.number,
        fence: turn.fence,
        outcome: "done",
        messages: [{ role: "assistant", parts: [{ type: "text", text }] }],
        shown: { note: true, notice: true },
        next: claim,
        now: Date.now(),
      }),
    );
    answers.push(text);
    turn = finished.next;
  }
  return answers;
}

/** A line, and where to look for it: in this session, not before this seq. */
interface Asked {
  readonly session: string;
  readonly after: number;
  readonly messageId: string;
}

/** The answer to one line. While another terminal is answering in the same session, the line waits its turn. */
async function answerTo(store: Store, asked: Asked, claim: Claiming): Promise<string> {
  const { session, after, messageId } = asked;
  for (;;) {
    let stop = (): void => {};
    const changed = new Promise<void>((resolve) => {
      stop = store.onChange(resolve);
    });
    try {
      const messages = (await store.messages({ asker: who, session, after })) ?? [];
      const at = messages.findIndex((message) => message.origin?.platformMessageId === messageId);
      const answer = at === -1 ? undefined : messages[at + 1];
      if (answer !== undefined) return textOf(answer);
      const turns = await runTurns(store, await claimIn(store, session, claim), claim);
      if (turns.length === 0) await changed;
    } finally {
      stop();
    }
  }
}

function noticeOf(fresh: Fresh): string {
  const { atHour, idleMinutes } = DEFAULT_RESET_POLICY;
  return resetNotice({ reason: fresh.reason, atHour, idleMinutes, handle: fresh.previous.handle });
}
