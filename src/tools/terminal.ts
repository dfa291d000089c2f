import type { ApprovalRequest } from "../core/approval.ts";
import { MIN_REPORT_INTERVAL_MS, WATCH_MODES } from "../core/process.ts";
import type { Tool } from "../ports/tool.ts";
import { MAX_TIMEOUT_S, parseCommandRequest, resolveRealFolder } from "./command-request.ts";
import { readTextArgument, runToolAction, toToolArguments } from "./tool-arguments.ts";
import type { ToolContext } from "./tool-context.ts";
import { MAX_PATTERN_LENGTH, MAX_PATTERNS } from "./watch-request.ts";

/** Runs shell commands in the foreground or in the background. */
export function terminalTool(context: ToolContext): Tool {
  return {
    name: "terminal",
    description: DESCRIPTION,
    input: INPUT,
    effect: "external",
    buildApprovalRequest: (args) => buildApprovalRequest(args, context),
    run: (args, call) =>
      runToolAction(async () => {
        const { runInForeground, runInEditor, startInBackground } = await import("./run-command.ts");
        const request = await parseCommandRequest(toToolArguments(args), context);
        if (request.background) return startInBackground(request, context);
        if (context.terminal !== undefined && !request.pty)
          return runInEditor(request, context.terminal, call);
        return runInForeground(request, context, call.signal);
      }),
  };
}

/** Requests an approval for a dangerous command. It covers exactly this command. */
async function buildApprovalRequest(
  value: unknown,
  context: ToolContext,
): Promise<ApprovalRequest | undefined> {
  const args = toToolArguments(value);
  const command = readTextArgument(args, "command")?.trim() ?? "";
  const folder = await resolveRealFolder(args, context);
  // Loaded with the first command, to keep chats without commands fast.
  const [{ findDanger }, { buildCommandContext }] = await Promise.all([
    import("./command-analysis/find-danger.ts"),
    import("./build-command-context.ts"),
  ]);
  const danger = findDanger(command, buildCommandContext(context, folder));
  if (danger === undefined) return undefined;
  return {
    title: `Run a command that ${danger.why}`,
    detail: `${command}\n\nin ${folder}`,
    pattern: command,
    folder,
  };
}

const DESCRIPTION = `Runs a command in a shell and returns its output and exit code.
Each command runs in a new shell in the working folder: cd and export do not persist.
With background it returns at once; use the tool process to inspect it, write to it and end it. Use it for servers, watchers and long work.
With pty the command gets a terminal, for programs that ask questions or draw.`;

const INPUT: Tool["input"] = {
  type: "object",
  properties: {
    command: { type: "string", description: "The shell command." },
    background: { type: "boolean", description: "Do not wait for the end of the command." },
    pty: { type: "boolean", description: "Run the command in a terminal." },
    workdir: { type: "string", description: "The folder to run in; relative to the working folder." },
    timeout: {
      type: "number",
      exclusiveMinimum: 0,
      description: `Seconds until the command is killed, at most ${MAX_TIMEOUT_S}. Not with background.`,
    },
    check_interval: {
      type: "number",
      description: `With background: the interval in seconds at which the chat gets new output; at least ${MIN_REPORT_INTERVAL_MS / 1000}.`,
    },
    watch_patterns: {
      type: "array",
      items: { type: "string", maxLength: MAX_PATTERN_LENGTH },
      maxItems: MAX_PATTERNS,
      description: "With background: notify the chat at once about a line that contains one of these texts.",
    },
    notify: {
      type: "string",
      enum: WATCH_MODES,
      description:
        "With background: the notifications for the chat: everything, only the end (result), only a failed end (error), or nothing (off).",
    },
    notify_on_complete: {
      type: "boolean",
      description: "With background: you are notified when it ends and can continue then.",
    },
  },
  required: ["command"],
};
