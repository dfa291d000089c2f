import { RequestError } from "@agentclientprotocol/sdk/unstable";
import type { Exit } from "../../core/process.ts";
import { describeExit } from "../../core/process-report.ts";
import type { Terminal, TerminalCommand, TerminalResult } from "../../ports/terminal.ts";
import type { EditorContext } from "./editor-context.ts";

/** As much of a command's output as the agent is given back. */
const MAX_OUTPUT_BYTES = 200_000;

/** The cards of the calls that run in a terminal. */
export interface TerminalCards {
  showTerminal(call: string, terminalId: string): void;
  /** The command has ended. The terminal is to be released after the card's last update: editors keep what it shows. */
  scheduleRelease(call: string, release: () => void): void;
}

/** The editor's own terminal, where it has one: commands run before the eyes of whoever sits there. */
export function editorTerminal(
  editor: EditorContext,
  sessionId: string,
  cards: TerminalCards,
): Terminal | undefined {
  if (editor.capabilities().terminal !== true) return undefined;
  return {
    async run(command, signal): Promise<TerminalResult> {
      try {
        return await runInTerminal(editor, sessionId, command, signal, cards);
      } catch (error) {
        return {
          text: `The editor's terminal could not run ${command.executable}: ${describeError(error)}`,
          failed: true,
        };
      }
    },
  };
}

async function runInTerminal(
  { client }: EditorContext,
  sessionId: string,
  { call, executable, args, cwd, timeoutMs }: TerminalCommand,
  signal: AbortSignal,
  cards: TerminalCards,
): Promise<TerminalResult> {
  const terminal = await client.createTerminal({
    sessionId,
    command: executable,
    args: [...args],
    outputByteLimit: MAX_OUTPUT_BYTES,
    ...(cwd !== undefined && { cwd }),
  });
  cards.showTerminal(call, terminal.id);
  const over = AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)]);
  const stop = (): void => void terminal.kill().catch(() => {}); // gone already, then
  over.addEventListener("abort", stop, { once: true });
  try {
    if (over.aborted) stop();
    const { exitCode, signal: killedBy } = await terminal.waitForExit();
    const { output, truncated } = await terminal.currentOutput();
    const notes = [
      truncated ? "The beginning of the output was cut." : "",
      over.aborted && !signal.aborted ? `Stopped after ${timeoutMs / 1000} s.` : "",
      exitCode === 0 && !killedBy ? "" : `It ${describeExit(toExit(exitCode, killedBy))}.`,
    ].filter(Boolean);
    return { text: [output, ...notes].join("\n"), failed: exitCode !== 0 };
  } finally {
    over.removeEventListener("abort", stop);
    cards.scheduleRelease(call, () => void terminal.release().catch(() => {})); // the editor may be gone
  }
}

/** What the editor says of it is more than that its request failed. */
function describeError(error: unknown): string {
  const details =
    error instanceof RequestError ? (error.data as { details?: unknown } | undefined)?.details : undefined;
  if (typeof details === "string") return details;
  return error instanceof Error ? error.message : String(error);
}

function toExit(code: number | null | undefined, signal: string | null | undefined): Exit {
  if (signal) return { signal };
  return typeof code === "number" ? { code } : { unknown: true };
}
