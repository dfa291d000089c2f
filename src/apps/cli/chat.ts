import { randomUUID } from "node:crypto";
import { createInterface } from "node:readline";
import type { Readable, Writable } from "node:stream";
import { echo } from "../../agents/echo.ts";
import { resetNotice } from "../../core/context-prompt.ts";
import type { Fresh } from "../../core/conversation.ts";
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
import { openHome } from "../home.ts";

export interface ChatStreams {
  readonly input: Readable & { readonly isTTY?: boolean };
  readonly output: Writable;
  /** Where everything goes that is not an answer. */
  readonly notices: Writable;
  readonly environment: NodeJS.ProcessEnv;
}

const who = { person: OWNER };
const settings = { zone: systemZone(), profile: "main", reset: DEFAULT_RESET, scope: {}, clock: systemClock };

/** A line in, an answer out, until the input ends. Each line is accepted before it is answered. */
export async function chat({ input, output, notices, environment }: ChatStreams): Promise<void> {
  const store = await sqliteStore({ file: openHome(environment).database });
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
      const turn = await store.claim({ session, ...claim, now: Date.now() });
      if (turn !== undefined) await answer(store, turn, claim, say);
    }
    const isTerminal = input.isTTY === true;
    const lines = createInterface({ input, ...(isTerminal && { output, prompt: "> " }) });
    if (isTerminal) {
      notices.write("Postrider: say something; Ctrl-D leaves. Everything is kept.\n");
      lines.prompt();
    }
    for await (const line of lines) {
      if (line.trim() !== "") {
        const { turn, session, fresh } = await accept(store, line, claim);
        if (fresh?.noticeDue) notices.write(`${noticeOf(fresh)}\n`);
        await answer(store, turn ?? (await nextTurn(store, session, claim)), claim, say);
      }
      if (isTerminal) lines.prompt();
    }
  } finally {
    clearInterval(heart);
    await store.retire({ runner: runner.id });
    await store.close();
  }
}

async function accept(store: Store, line: string, claim: { runner: string; take: "one" }) {
  const [message] = readyMessages({ role: "user", text: line }).messages;
  if (message === undefined) throw new Error("a line became no message");
  const accepted = await store.accept({
    ...routingOf(localSource(), settings),
    messageId: randomUUID(),
    message,
    claim,
  });
  if (accepted.duplicate) throw new Error("a new line was taken for an old one");
  return { turn: accepted.turn, session: accepted.session.id, fresh: accepted.fresh };
}

/** Answers a turn and whatever waits behind it. */
async function answer(
  store: Store,
  first: Turn | undefined,
  claim: { runner: string; take: "one" },
  say: (text: string) => void,
): Promise<void> {
  for (let turn = first; turn !== undefined; ) {
    const history = (await store.history({ asker: who, session: turn.session })) ?? [];
    const text = echo(history);
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
    say(text);
    turn = finished.next;
  }
}

/** Another terminal is answering in the same session: the message waits its turn, here or there. */
async function nextTurn(
  store: Store,
  session: string,
  claim: { runner: string; take: "one" },
): Promise<Turn | undefined> {
  for (;;) {
    let stop = (): void => {};
    const changed = new Promise<void>((resolve) => {
      stop = store.onChange(resolve);
    });
    try {
      const turn = await store.claim({ session, ...claim, now: Date.now() });
      if (turn !== undefined || !(await store.work({ now: Date.now() })).includes(session)) return turn;
      await changed;
    } finally {
      stop();
    }
  }
}

function noticeOf(fresh: Fresh): string {
  const { atHour, idleMinutes } = DEFAULT_RESET_POLICY;
  return resetNotice({ reason: fresh.reason, atHour, idleMinutes, handle: fresh.previous.handle });
}
