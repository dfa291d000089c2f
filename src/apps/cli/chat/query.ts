import { text as readAll } from "node:stream/consumers";
import { PostriderError } from "../../../core/errors.ts";
import { usageToJson } from "../../../core/json.ts";
import { getText } from "../../../core/message.ts";
import type { Agent } from "../../../ports/agent.ts";
import type { Config } from "../../config/config.ts";
import type { LoadedPlugins } from "../../plugins/load-plugins.ts";
import { onShutdownSignals, toSignalExitCode } from "../../shutdown-signals.ts";
import { usageError } from "../command.ts";
import { type Io, printJson, printLine } from "../io.ts";
import { prepareHome } from "../open-home.ts";
import { sanitizeForOutput } from "./answer-printer.ts";
import { type ChatStart, openChatSession, startChat } from "./start-chat.ts";
import { appendStdin } from "./stdin-text.ts";

/** The time limit for storing the answer after a signal. */
const CLOSE_LIMIT_MS = 10_000;

export interface QueryRequest {
  /** `-` reads the question from stdin, so that it can have many lines. Otherwise stdin is its context. */
  readonly question: string;
  readonly start: ChatStart;
  readonly agent: Agent;
  readonly config: Config | undefined;
  readonly plugins?: LoadedPlugins | undefined;
  readonly json: boolean;
}

/** Asks one question, in a new session unless one is named. Ctrl-C and SIGTERM keep the partial answer. */
export async function runQuery(
  io: Io,
  { question, start, agent, config, plugins, json }: QueryRequest,
): Promise<number> {
  if (question.trim() === "") throw usageError("The question is empty. Use: postrider -q TEXT");
  const asked = question === "-" ? (await readAll(io.input)).trimEnd() : await appendStdin(io, question);
  if (asked.trim() === "") throw usageError("The question is empty. Use: postrider -q TEXT");
  const chat = await startChat({
    home: prepareHome(io),
    environment: io.environment,
    agent,
    kind: "query",
    config,
    plugins,
    onEvent: () => {},
    notify: (text) => io.notices.write(`postrider: ${text}\n`),
    onStoreLost: (text) => io.notices.write(`postrider: ${text}\n`),
  });
  const interrupted = new AbortController();
  let endCode = 0;
  const forgetSignals = onShutdownSignals(
    (signal) => {
      endCode = toSignalExitCode(signal);
      interrupted.abort();
      void chat.talk.close();
    },
    { signals: ["SIGINT", "SIGTERM"], limitMs: CLOSE_LIMIT_MS },
  );
  try {
    const { talk } = chat;
    const { sessions, who } = chat.commandContext;
    await openChatSession(chat.commandContext, start === "here" ? "new" : start);
    if (interrupted.signal.aborted) return endCode;
    const said = await talk.submit(asked);
    const answer = await said.answer;
    if (answer === undefined && interrupted.signal.aborted) {
      // It was pending behind another terminal's answer, and its reader is gone.
      await talk.cancelPending(said.conversation.number);
      return endCode;
    }
    const session = await sessions.get(who, said.session.id);
    if (answer === undefined || session === undefined)
      throw new PostriderError("not_found", "The question was cancelled.");
    const { id, handle, usage } = session;
    const answered = { answer: getText(answer), session: id, handle, seq: answer.seq };
    const error = answer.extra?.error;
    if (error !== undefined && json)
      throw new PostriderError("agent_failed", String(error), { details: answered });
    const wasInterrupted = answer.origin?.interrupted === true;
    if (json) printJson(io, { ...answered, interrupted: wasInterrupted, usage: usageToJson(usage) });
    else if (answered.answer !== "") printLine(io, sanitizeForOutput(io, answered.answer));
    if (error !== undefined) throw new PostriderError("agent_failed", String(error));
    return endCode;
  } finally {
    await chat.close();
    forgetSignals();
  }
}
