import { createInterface } from "node:readline";
import { applyReply } from "../../../commands/apply-reply.ts";
import type { ChatCommandContext } from "../../../commands/command.ts";
import { runChatCommand } from "../../../commands/table.ts";
import { parseCommand, unescapeSlash } from "../../../core/command-grammar.ts";
import type { FreshStart } from "../../../core/conversation.ts";
import { PostriderError } from "../../../core/errors.ts";
import { getText } from "../../../core/message.ts";
import { toPrintable } from "../../../core/printable.ts";
import { resetNotice } from "../../../core/reset-notice.ts";
import type { Agent } from "../../../ports/agent.ts";
import type { Config } from "../../config/config.ts";
import type { LoadedPlugins } from "../../plugins/load-plugins.ts";
import { saveDocument } from "../../save-document.ts";
import { onShutdownSignals, toSignalExitCode } from "../../shutdown-signals.ts";
import { type Io, printNotice } from "../io.ts";
import { prepareHome } from "../open-home.ts";
import { type AnswerPrinter, answerPrinter, sanitizeForOutput } from "./answer-printer.ts";
import { type ChatStart, openChatSession, startChat, type TerminalChat } from "./start-chat.ts";

/** The number of lines that are read ahead to find a `/stop`. The limit bounds the memory for long input. */
const MAX_LINES = 1000;
/** The time limit for storing the answer after a signal. */
const CLOSE_LIMIT_MS = 10_000;

/** Answers each line of the input, in order, until the input ends. Only `/stop` acts at once. */
export async function runPipe(
  io: Io,
  start: ChatStart,
  agent: Agent,
  config: Config | undefined,
  plugins?: LoadedPlugins,
): Promise<number> {
  const printing = answerPrinter(io);
  const chat = await startChat({
    home: prepareHome(io),
    environment: io.environment,
    agent,
    kind: "pipe",
    config,
    plugins,
    onEvent: printing.handleEvent,
    notify: (text) => printNotice(io, `postrider: ${text}`),
    onStoreLost: (text) => printNotice(io, `postrider: ${text}`),
  });
  const { commandContext, talk } = chat;
  let code = 0;
  let endCode: number | undefined;
  const lines: string[] = [];
  let wake = (): void => {};
  let isOver = false;
  const input = createInterface({ input: io.input });
  input.on("line", (line) => {
    if (parseCommand(line)?.name === "stop" && talk.isAnswering()) void talk.stop();
    else lines.push(line);
    if (lines.length >= MAX_LINES) input.pause();
    wake();
  });
  input.on("close", () => {
    isOver = true;
    wake();
  });
  const forgetSignals = onShutdownSignals(
    (signal) => {
      endCode = toSignalExitCode(signal);
      isOver = true;
      lines.length = 0;
      void talk.close();
      wake();
    },
    { signals: ["SIGINT", "SIGTERM"], limitMs: CLOSE_LIMIT_MS },
  );
  try {
    // Messages that a killed process accepted are answered first, on stderr: stdout is for our own lines.
    for (const { text, reason } of await talk.recover()) {
      if (text !== "") printNotice(io, `Answer to a message from an earlier run: ${toPrintable(text)}`);
      if (reason !== undefined) printNotice(io, `postrider: ${reason}`);
    }
    if (start !== "here") await openChatSession(commandContext, start);
    for (;;) {
      const line = lines.shift();
      if (line === undefined) {
        if (isOver) break;
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
        continue;
      }
      if (lines.length < MAX_LINES && !isOver) input.resume();
      if (line.trim() === "") continue;
      try {
        if (await handleLine(io, chat, line, printing)) break;
      } catch (error) {
        if (!(error instanceof PostriderError)) throw error;
        if (endCode !== undefined) continue;
        printNotice(io, `postrider: ${error.message}`);
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

/** Handles one line. Returns true when it was the last. */
async function handleLine(
  io: Io,
  chat: TerminalChat,
  line: string,
  printing: AnswerPrinter,
): Promise<boolean> {
  const { commandContext } = chat;
  const command = parseCommand(line);
  if (command === undefined) {
    await printAnswer(io, chat, unescapeSlash(line), printing);
    return false;
  }
  if ((await commandContext.chat.findCurrent()) === undefined) await commandContext.chat.open();
  let isLast = false;
  await applyReply(commandContext, runChatCommand(commandContext, command.name, command.args), {
    show(texts, { document }) {
      for (const text of texts) io.output.write(`${sanitizeForOutput(io, text)}\n`);
      if (document !== undefined) io.output.write(`${saveDocument(document)}\n`);
    },
    submit: (text) => printAnswer(io, chat, text, printing),
    leave: () => {
      isLast = true;
    },
  });
  return isLast;
}

async function printAnswer(
  io: Io,
  { commandContext, talk }: TerminalChat,
  text: string,
  printing: AnswerPrinter,
): Promise<void> {
  const said = await talk.submit(text);
  if (said.fresh?.noticeDue) printNotice(io, formatResetNotice(commandContext, said.fresh));
  printing.expect(said.messageId);
  const stored = await said.answer;
  if (stored === undefined) throw new PostriderError("not_found", "The line was cancelled before its turn.");
  // Streamed already if the turn ran here; otherwise another process answered.
  printing.complete(getText(stored));
  const error = stored.extra?.error;
  if (error !== undefined) throw new PostriderError("agent_failed", String(error));
}

export function formatResetNotice(
  { policy: { atHour, idleMinutes } }: ChatCommandContext,
  fresh: FreshStart,
): string {
  return resetNotice({ reason: fresh.reason, atHour, idleMinutes, handle: fresh.previous.handle });
}
