/** The first page of help: of everything, or of one group of commands. */
export function formatOverview(commands: string, group?: string): string {
  if (group !== undefined) {
    return `Usage: postrider ${group} COMMAND [options]\n\nCommands:\n${commands}\n\nEach has its own help: postrider ${group} COMMAND --help\n`;
  }
  return `Postrider: an AI agent where people talk, and conversations that are never lost

Usage: postrider [options]            talk in the terminal
       postrider COMMAND [options]    look after what was said

Talking:
  -c, --continue       go on in the newest session
  -r, --resume NAME    go on in the session with this title, handle or id
  -q, --query TEXT     ask once, print the answer, leave
      --json           with --query: the answer as JSON
      --agent NAME     who answers: model, echo, script:FILE, ./FILE.ts, a plugin's agent (default: the model)

Commands:
${commands}

  help [COMMAND]   how to use a command, with examples
  --version        the version

Environment:
  POSTRIDER_HOME   where everything is kept (default: ~/.postrider)
  ANTHROPIC_API_KEY, OPENAI_API_KEY, GEMINI_API_KEY, OPENROUTER_API_KEY
                   the model of that provider answers
  POSTRIDER_BASE_URL, POSTRIDER_API_KEY
                   a model of your own that speaks OpenAI's protocol answers
  POSTRIDER_MODEL  which model; POSTRIDER_AGENT sets --agent
  NO_COLOR         no colours

Examples:
  postrider                        talk; Ctrl-C stops an answer, twice leaves
  echo hello | postrider           one answer per line, and nothing else, on stdout
  postrider -r "holiday plans"     go on where that was left
  postrider sessions search 夜景    find it again

Exit codes: 0 done, 1 something failed, 2 the arguments are wrong, 3 not found, 4 ambiguous, 5 refused, 130 interrupted
`;
}
