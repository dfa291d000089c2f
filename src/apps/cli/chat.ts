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
  about: `Starts a chat in the terminal, or in a pipe: one line in, one answer out. Postrider stores every message before the
agent answers it. A terminal continues its last session until the reset policy starts a new one (/where shows when).`,
  options: {
    continue: { type: "flag", short: "c", help: "continue the newest session" },
    resume: {
      type: "text",
      short: "r",
      value: "NAME",
      help: "continue the session with this title, handle or id",
    },
    query: {
      type: "text",
      short: "q",
      value: "TEXT",
      help: "ask one question and print the answer; stdin is added as context; - reads the question from stdin",
    },
    json: JSON_OPTION,
    agent: {
      type: "text",
      value: "NAME",
      help: "the agent: model, echo, script:FILE, ./FILE.ts or an agent of a plugin (default: the model, if one is configured)",
    },
  },
  examples: [
    ["postrider", "chat; Ctrl-C stops an answer, Ctrl-C twice exits"],
    ['postrider -r "holiday plans"', "continue that session"],
    ['postrider -q "what is a post rider?" --json', "one answer as JSON, for a script"],
    ['git diff | postrider -q "is this right?"', "the question, followed by stdin"],
    ["echo hello | postrider", "one answer per line; stdout has nothing else"],
  ],
  async run({ values }, io) {
    // Only a chat has /platforms.
    const config = await loadLocalConfig(io, values.query === undefined);
    const plugins = await loadChatPlugins(io, config);
    const chosen = await chooseAgent(
      values.agent ?? io.environment.POSTRIDER_AGENT,
      io.environment,
      config?.model,
      plugins?.agents,
    );
    const startIn = parseChatStart(values.continue, values.resume);
    if (values.query !== undefined) {
      const { runQuery } = await import("./chat/query.ts");
      return runQuery(io, {
        question: values.query,
        start: startIn,
        agent: chosen.agent,
        config,
        plugins,
        json: values.json,
      });
    }
    if (values.json) throw usageError("--json needs --query");
    return runChat(io, startIn, chosen, config, plugins);
  },
});

/** Starts the chat in one session, for commands in which a person chooses one. */
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
  startIn: ChatStart,
  { agent, hint }: ChosenAgent,
  config: Config | undefined,
  plugins: LoadedPlugins | undefined,
): Promise<number> {
  const isTerminal = io.input.isTTY && io.output.isTTY && io.environment.TERM !== "dumb";
  if (!isTerminal) return (await import("./chat/pipe.ts")).runPipe(io, startIn, agent, config, plugins);
  return (await import("./chat/screen.ts")).runScreen(io, startIn, agent, config, hint, plugins);
}

function parseChatStart(newest: boolean, session: string | undefined): ChatStart {
  if (newest && session !== undefined) throw usageError("--continue and --resume cannot be used together");
  if (newest) return "newest";
  return session === undefined ? "here" : { session };
}
