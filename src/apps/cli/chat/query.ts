import { text as readAll } from "node:stream/consumers";
import { PostriderError } from "../../../core/errors.ts";
import { usageToJson } from "../../../core/json.ts";
import { textOf } from "../../../core/message.ts";
import type { Agent } from "../../../ports/agent.ts";
import type { Config } from "../../config/config.ts";
import { exitCodeOf, onEndSignals } from "../../end-signals.ts";
import { wrongArguments } from "../command.ts";
import { type Io, say, sayJson } from "../io.ts";
import { readyHome } from "../opening.ts";
import { printed } from "./answer-printer.ts";
import { type Beginning, begin, startChat } from "./start.ts";
import { withStdin } from "./stdin-text.ts";

/** How long storing what was said may take after a signal. */
const CLOSE_LIMIT_MS = 10_000;

export interface Query {
  /** `-` reads it from stdin, so that it can have many lines; else what comes on stdin is its context. */
  readonly question: string;
  readonly beginning: Beginning;
  readonly agent: Agent;
  readonly config: Config | undefined;
  readonly json: boolean;
}

/** Asks once, in a session of its own unless one is named. What is stopped by Ctrl-C or SIGTERM is kept. */
export async function query(io: Io, { question, beginning, agent, config, json }: Query): Promise<number> {
  if (question.trim() === "") throw wrongArguments("There is no question: write postrider -q TEXT");
  const asked = question === "-" ? (await readAll(io.input)).trimEnd() : await withStdin(io, question);
  if (asked.trim() === "") throw wrongArguments("There is no question: write postrider -q TEXT");
  const chat = await startChat({
    home: readyHome(io),
    environment: io.environment,
    agent,
    kind: "query",
    config,
    heard: () => {},
    notice: (text) => io.notices.write(`postrider: ${text}\n`),
    lost: (text) => io.notices.write(`postrider: ${text}\n`),
  });
  const interrupted = new AbortController();
  let endCode = 0;
  const forgetSignals = onEndSignals(
    (signal) => {
      endCode = exitCodeOf(signal);
      interrupted.abort();
      void chat.talk.close();
    },
    { signals: ["SIGINT", "SIGTERM"], limitMs: CLOSE_LIMIT_MS },
  );
  try {
    const { talk } = chat;
    const { sessions, who } = chat.place;
    await begin(chat.place, beginning === "here" ? "new" : beginning);
    if (interrupted.signal.aborted) return endCode;
    const said = await talk.say(asked);
    const answer = await said.answer;
    if (answer === undefined && interrupted.signal.aborted) {
      // It was waiting for another terminal's answer; nobody waits for its own any more.
      await talk.cancelWaiting(said.conversation.number);
      return endCode;
    }
    const session = await sessions.get(who, said.session.id);
    if (answer === undefined || session === undefined)
      throw new PostriderError("not_found", "The question was cancelled.");
    const { id, handle, usage } = session;
    const answered = { answer: textOf(answer), session: id, handle, seq: answer.seq };
    const error = answer.extra?.error;
    if (error !== undefined && json)
      throw new PostriderError("agent_failed", String(error), { details: answered });
    const wasInterrupted = answer.origin?.interrupted === true;
    if (json) sayJson(io, { ...answered, interrupted: wasInterrupted, usage: usageToJson(usage) });
    else if (answered.answer !== "") say(io, printed(io, answered.answer));
    if (error !== undefined) throw new PostriderError("agent_failed", String(error));
    return endCode;
  } finally {
    await chat.close();
    forgetSignals();
  }
}
