/** The help overview of all commands, or of one group of commands. */
export function formatOverview(commands: string, group?: string): string {
  if (group !== undefined) {
    return `Usage: postrider ${group} COMMAND [options]\n\nCommands:\n${commands}\n\nHelp for one command: postrider ${group} COMMAND --help\n`;
  }
  return `Postrider runs your AI agent in Telegram, the terminal and your editor, with one durable history.

Usage: postrider [options]            chat in the terminal
       postrider COMMAND [options]    run one command

Chat options:
  -c, --continue       continue the newest session
  -r, --resume NAME    continue the session with this title, handle or id
  -q, --query TEXT     ask one question, print the answer, exit
      --json           with --query: print the answer as JSON
      --agent NAME     the agent: model, echo, script:FILE, ./FILE.ts or a plugin's (default: the model, if one is configured)

Commands:
${commands}

  help [COMMAND]   show the help of a command, with examples
  --version        print the version

Environment:
  POSTRIDER_HOME   the folder with all data (default: ~/.postrider)
  ANTHROPIC_API_KEY, OPENAI_API_KEY, GEMINI_API_KEY, OPENROUTER_API_KEY
                   use the model of that provider
  POSTRIDER_BASE_URL, POSTRIDER_API_KEY
                   use your own model with an OpenAI-compatible API
  POSTRIDER_MODEL  the name of the model; POSTRIDER_AGENT sets --agent
  NO_COLOR         switch colours off

Examples:
  postrider                        chat; Ctrl-C stops an answer, Ctrl-C twice exits
  echo hello | postrider           one answer per line; stdout has nothing else
  postrider -r "holiday plans"     continue that session
  postrider sessions search 夜景    search all messages

Exit codes: 0 success, 1 failure, 2 wrong arguments, 3 not found, 4 ambiguous, 5 refused, 130 interrupted
`;
}
