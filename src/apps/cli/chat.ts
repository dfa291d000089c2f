import { type ChosenAgent, chooseAgent } from "../choose-agent.ts";
import type { Config } from "../config/config.ts";
import { resolveHome } from "../home.ts";
import { loadConfiguredPlugins } from "../plugins/configured-plugins.ts";
import type { LoadedPlugins } from "../plugins/load-plugins.ts";
import type { ChatStart } from "./chat/start-chat.ts";
import { type Command, defineCommand, JSON_OPTION, usageError } from "./command.ts";
import { loadLocalConfig } from "./config/local-config.ts";
import { type Io, printNotice } from "./io.ts";

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
      help: "who answers: model, echo, script:FILE, ./FILE.ts or a plugin's agent (default: the model, if there is one)",
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
    const plugins = await loadChatPlugins(io, config);
    const chosen = await chooseAgent(
      values.agent ?? io.environment.POSTRIDER_AGENT,
      io.environment,
      config?.model,
      plugins?.agents,
    );
    const beginning = parseChatStart(values.continue, values.resume);
    if (values.query !== undefined) {
      const { runQuery: query } = await import("./chat/query.ts");
      return query(io, {
        question: values.query,
        start: beginning,
        agent: chosen.agent,
        config,
        plugins,
        json: values.json,
      });
    }
    if (values.json) throw usageError("--json goes with --query");
    return runChat(io, beginning, chosen, config, plugins);
  },
});

/** The chat in one session, for programs that let people choose one. */
export async function resumeChat(io: Io, session: string): Promise<number> {
  const config = await loadLocalConfig(io, true);
  const plugins = await loadChatPlugins(io, config);
  const { environment } = io;
  const chosen = await chooseAgent(environment.POSTRIDER_AGENT, environment, config?.model, plugins?.agents);
  return runChat(io, { session }, chosen, config, plugins);
}

function loadChatPlugins(io: Io, config: Config | undefined): Promise<LoadedPlugins | undefined> {
  return loadConfiguredPlugins(resolveHome(io.environment), config, (text) =>
    printNotice(io, `postrider: ${text}`),
  );
}

async function runChat(
  io: Io,
  beginning: ChatStart,
  { agent, hint }: ChosenAgent,
  config: Config | undefined,
  plugins: LoadedPlugins | undefined,
): Promise<number> {
  const isTerminal = io.input.isTTY && io.output.isTTY && io.environment.TERM !== "dumb";
  if (!isTerminal) return (await import("./chat/pipe.ts")).runPipe(io, beginning, agent, config, plugins);
  return (await import("./chat/screen.ts")).runScreen(io, beginning, agent, config, hint, plugins);
}

function parseChatStart(newest: boolean, session: string | undefined): ChatStart {
  if (newest && session !== undefined) throw usageError("--continue and --resume exclude each other");
  if (newest) return "newest";
  return session === undefined ? "here" : { session };
}
