import { type ChosenAgent, chooseAgent } from "../choose-agent.ts";
import type { Config } from "../config/config.ts";
import type { ChatStart } from "./chat/start-chat.ts";
import { type Command, defineCommand, JSON_OPTION, usageError } from "./command.ts";
import { loadLocalConfig } from "./config/local-config.ts";
import type { Io } from "./io.ts";

export const startChatCommand: Command = defineCommand({
  name: "",
  about: `Talks in the terminal, or from a pipe: one line in, one answer out. Every message is on the disk before it is
answered. A terminal goes on in the session where it was, until the policy starts a new one (/where tells when).`,
  options: {
    continue: { type: "flag", short: "c", help: "go on in the newest session" },
    resume: {
      type: "text",
      short: "r",
      value: "NAME",
      help: "go on in the session with this title, handle or id",
    },
    query: {
      type: "text",
      short: "q",
      value: "TEXT",
      help: "ask once and print the answer, with stdin as context; - reads the question itself from stdin",
    },
    json: JSON_OPTION,
    agent: {
      type: "text",
      value: "NAME",
      help: "who answers: model, echo or script:FILE (default: the model, if there is one)",
    },
  },
  examples: [
    ["postrider", "talk; Ctrl-C stops an answer, twice leaves"],
    ['postrider -r "holiday plans"', "go on where that was left"],
    ['postrider -q "what is a post rider?" --json', "one answer, for a script"],
    ['git diff | postrider -q "is this right?"', "the question, with what comes on stdin behind it"],
    ["echo hello | postrider", "one answer per line, and nothing else, on stdout"],
  ],
  async run({ values }, io) {
    // Only in a talk somebody can ask for /platforms.
    const config = await loadLocalConfig(io, values.query === undefined);
    const chosen = await chooseAgent(
      values.agent ?? io.environment.POSTRIDER_AGENT,
      io.environment,
      config?.model,
    );
    const beginning = parseChatStart(values.continue, values.resume);
    if (values.query !== undefined) {
      const { runQuery: query } = await import("./chat/query.ts");
      return query(io, {
        question: values.query,
        start: beginning,
        agent: chosen.agent,
        config,
        json: values.json,
      });
    }
    if (values.json) throw usageError("--json goes with --query");
    return runChat(io, beginning, chosen, config);
  },
});

/** The chat in one session, for programs that let people choose one. */
export async function resumeChat(io: Io, session: string): Promise<number> {
  const config = await loadLocalConfig(io, true);
  const chosen = await chooseAgent(io.environment.POSTRIDER_AGENT, io.environment, config?.model);
  return runChat(io, { session }, chosen, config);
}

async function runChat(
  io: Io,
  beginning: ChatStart,
  { agent, hint }: ChosenAgent,
  config: Config | undefined,
): Promise<number> {
  const isTerminal = io.input.isTTY && io.output.isTTY && io.environment.TERM !== "dumb";
  if (!isTerminal) return (await import("./chat/pipe.ts")).runPipe(io, beginning, agent, config);
  return (await import("./chat/screen.ts")).runScreen(io, beginning, agent, config, hint);
}

function parseChatStart(newest: boolean, session: string | undefined): ChatStart {
  if (newest && session !== undefined) throw usageError("--continue and --resume exclude each other");
  if (newest) return "newest";
  return session === undefined ? "here" : { session };
}
