import { createInterface } from "node:readline";
import { around } from "../../../commands/around.ts";
import type { Place } from "../../../commands/command.ts";
import { runChatCommand } from "../../../commands/table.ts";
import { parseCommand, spokenText } from "../../../core/command-grammar.ts";
import type { Fresh } from "../../../core/conversation.ts";
import { PostriderError } from "../../../core/errors.ts";
import { resetNotice } from "../../../core/fresh-words.ts";
import { textOf } from "../../../core/message.ts";
import { printable } from "../../../core/printable.ts";
import type { Agent } from "../../../ports/agent.ts";
import type { Config } from "../../config/config.ts";
import { exitCodeOf, onEndSignals } from "../../end-signals.ts";
import { saveDocument } from "../../save-document.ts";
import { type Io, note } from "../io.ts";
import { readyHome } from "../opening.ts";
import { type AnswerPrinter, answerPrinter, printed } from "./answer-printer.ts";
import { type Beginning, begin, type Chat, startChat } from "./start.ts";

/** So many lines are read ahead, so that a `/stop` among them is seen; no more, however long the input is. */
const MOST_LINES = 1000;
/** How long storing what was said may take after a signal. */
const CLOSE_LIMIT_MS = 10_000;

/**
 * A line in, an answer out, until the input ends. Lines are taken in order, commands too, but `/stop` acts at once: that
 * is what it is for.
 */
export async function pipe(
  io: Io,
  beginning: Beginning,
  agent: Agent,
  config: Config | undefined,
): Promise<number> {
  const printing = answerPrinter(io);
  const chat = await startChat({
    home: readyHome(io),
    environment: io.environment,
    agent,
    kind: "pipe",
    config,
    heard: printing.heard,
    notice: (text) => note(io, `postrider: ${text}`),
    lost: (text) => note(io, `postrider: ${text}`),
  });
  const { place, talk } = chat;
  let code = 0;
  let endCode: number | undefined;
  const lines: string[] = [];
  let wake = (): void => {};
  let isOver = false;
  const input = createInterface({ input: io.input });
  input.on("line", (line) => {
    if (parseCommand(line)?.name === "stop" && talk.isAnswering()) void talk.stop();
    else lines.push(line);
    if (lines.length >= MOST_LINES) input.pause();
    wake();
  });
  input.on("close", () => {
    isOver = true;
    wake();
  });
  const forgetSignals = onEndSignals(
    (signal) => {
      endCode = exitCodeOf(signal);
      isOver = true;
      lines.length = 0;
      void talk.close();
      wake();
    },
    { signals: ["SIGINT", "SIGTERM"], limitMs: CLOSE_LIMIT_MS },
  );
  try {
    // What a killed process had accepted is answered first. Its reader is gone: ours expects answers to its own lines.
    for (const { text, reason } of await talk.recover()) {
      if (text !== "") note(io, `An earlier start had left this to be answered: ${printable(text)}`);
      if (reason !== undefined) note(io, `postrider: ${reason}`);
    }
    if (beginning !== "here") await begin(place, beginning);
    for (;;) {
      const line = lines.shift();
      if (line === undefined) {
        if (isOver) break;
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
        continue;
      }
      if (lines.length < MOST_LINES && !isOver) input.resume();
      if (line.trim() === "") continue;
      try {
        if (await take(io, chat, line, printing)) break;
      } catch (error) {
        if (!(error instanceof PostriderError)) throw error;
        if (endCode !== undefined) continue;
        note(io, `postrider: ${error.message}`);
        code = 1;
      }
    }
    return endCode ?? code;
  } finally {
    input.close();
    await chat.close();
    forgetSignals();
  }
}

/** One line. True when it was the last. */
async function take(io: Io, chat: Chat, line: string, printing: AnswerPrinter): Promise<boolean> {
  const { place } = chat;
  const command = parseCommand(line);
  if (command === undefined) {
    await answer(io, chat, spokenText(line), printing);
    return false;
  }
  if ((await place.talk.look()) === undefined) await place.talk.open();
  const reply = await runChatCommand(place, command.name, command.args);
  const excerpt = reply.around === undefined ? "" : await around(place, reply.around);
  for (const text of [reply.text, excerpt]) if (text !== "") io.output.write(`${printed(io, text)}\n`);
  if (reply.document !== undefined) io.output.write(`${saveDocument(reply.document)}\n`);
  if (reply.say !== undefined) await answer(io, chat, reply.say, printing);
  return reply.leave === true;
}

async function answer(io: Io, { place, talk }: Chat, text: string, printing: AnswerPrinter): Promise<void> {
  const said = await talk.say(text);
  if (said.fresh?.noticeDue) note(io, noticeOf(place, said.fresh));
  printing.expect(said.messageId);
  const stored = await said.answer;
  if (stored === undefined) throw new PostriderError("not_found", "That line was cancelled before its turn.");
  // Written as it came, if it came here; else another process has answered.
  printing.complete(textOf(stored));
  const error = stored.extra?.error;
  if (error !== undefined) throw new PostriderError("agent_failed", String(error));
}

export function noticeOf({ policy: { atHour, idleMinutes } }: Place, fresh: Fresh): string {
  return resetNotice({ reason: fresh.reason, atHour, idleMinutes, handle: fresh.previous.handle });
}
