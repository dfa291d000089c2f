import type { ApprovalRequest } from "../core/approval.ts";
import { MIN_REPORT_INTERVAL_MS, WATCH_MODES } from "../core/process.ts";
import type { Tool } from "../ports/tool.ts";
import { LONGEST_TIMEOUT_S, parseCommandRequest, resolveRealFolder } from "./command-request.ts";
import { readTextArgument, runToolAction, toToolArguments } from "./tool-arguments.ts";
import type { ToolContext } from "./tool-context.ts";
import { LONGEST_PATTERN, MOST_PATTERNS } from "./watch-request.ts";

/** Commands in a shell: waited for, or left to run while the agent goes on. */
export function terminalTool(hands: ToolContext): Tool {
  return {
    name: "terminal",
    description: DESCRIPTION,
    input: INPUT,
    effect: "external",
    buildApprovalRequest: (given) => buildApprovalRequest(given, hands),
    run: (given, call) =>
      runToolAction(async () => {
        const { runInForeground: runHere, runInEditor, startInBackground } = await import("./run-command.ts");
        const wanted = await parseCommandRequest(toToolArguments(given), hands);
        if (wanted.background) return startInBackground(wanted, hands);
        if (hands.terminal !== undefined && !wanted.pty) return runInEditor(wanted, hands.terminal, call);
        return runHere(wanted, hands, call.signal);
      }),
  };
}

/** A dangerous command is asked of the person, who allows this very command and no other. */
async function buildApprovalRequest(
  value: unknown,
  hands: ToolContext,
): Promise<ApprovalRequest | undefined> {
  const given = toToolArguments(value);
  const command = readTextArgument(given, "command")?.trim() ?? "";
  const folder = await resolveRealFolder(given, hands);
  // Loaded for the first command: a chat without commands does not wait for it.
  const [{ findDanger }, { buildCommandContext: commandContext }] = await Promise.all([
    import("./command-analysis/find-danger.ts"),
    import("./build-command-context.ts"),
  ]);
  const danger = findDanger(command, commandContext(hands, folder));
  if (danger === undefined) return undefined;
  return {
    title: `Run a command that ${danger.why}`,
    detail: `${command}\n\nin ${folder}`,
    pattern: command,
    folder,
  };
}

const DESCRIPTION = `Runs a command in a shell and gives back what it prints and its exit code.
Each command starts in the working folder with a shell of its own: cd and export do not last.
With background it returns at once; look at it, write to it and end it with the tool process. Servers, watchers and long work belong there.
With pty the program has a terminal of its own: for programs that ask questions or draw.`;

const INPUT: Tool["input"] = {
  type: "object",
  properties: {
    command: { type: "string", description: "As a shell takes it." },
    background: { type: "boolean", description: "Do not wait for its end." },
    pty: { type: "boolean", description: "Give it a terminal of its own." },
    workdir: { type: "string", description: "The folder to run in; relative to the working folder." },
    timeout: {
      type: "number",
      exclusiveMinimum: 0,
      description: `Seconds to wait for its end, ${LONGEST_TIMEOUT_S} at most; then it is killed. Not with background.`,
    },
    check_interval: {
      type: "number",
      description: `With background: tell the chat every so many seconds what it has printed; ${MIN_REPORT_INTERVAL_MS / 1000} at least.`,
    },
    watch_patterns: {
      type: "array",
      items: { type: "string", maxLength: LONGEST_PATTERN },
      maxItems: MOST_PATTERNS,
      description: "With background: tell the chat at once of a line that holds one of these texts.",
    },
    notify: {
      type: "string",
      enum: WATCH_MODES,
      description:
        "With background: what the chat is told: everything, only the end (result), only an end that failed (error), or nothing (off).",
    },
    notify_on_complete: {
      type: "boolean",
      description: "With background: you are told when it ends, and go on then.",
    },
  },
  required: ["command"],
};
