import { RequestError, type SessionUpdate } from "@agentclientprotocol/sdk/unstable";
import type { Exit } from "../../core/process.ts";
import { describeExit } from "../../core/process-report.ts";
import type { Terminal, TerminalCommand, TerminalResult } from "../../ports/terminal.ts";
import type { TurnEvent } from "../../turns/active-turns.ts";
import type { CallTracker } from "./call-tracker.ts";
import type { EditorContext } from "./editor-context.ts";

const MAX_OUTPUT_BYTES = 200_000;

/** The cards of tool calls that run in a terminal of the editor. */
export interface TerminalCards {
  showTerminal(call: string, terminalId: string): void;
  /** The command has ended. Releases the terminal after the last update of the card, so that editors keep its output. */
  scheduleRelease(call: string, release: () => void): void;
}

/** Runs commands in the editor's own terminal. `undefined` if the editor has none. */
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
  const stopped = AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)]);
  const stop = (): void => void terminal.kill().catch(() => {}); // it has ended already
  stopped.addEventListener("abort", stop, { once: true });
  try {
    if (stopped.aborted) stop();
    const { exitCode, signal: killedBy } = await terminal.waitForExit();
    const { output, truncated } = await terminal.currentOutput();
    const notes = [
      truncated ? "The beginning of the output was cut." : "",
      stopped.aborted && !signal.aborted ? `Stopped after ${timeoutMs / 1000} s.` : "",
      exitCode === 0 && !killedBy ? "" : `It ${describeExit(toExit(exitCode, killedBy))}.`,
    ].filter(Boolean);
    return { text: [output, ...notes].join("\n"), failed: exitCode !== 0 };
  } finally {
    stopped.removeEventListener("abort", stop);
    cards.scheduleRelease(call, () => void terminal.release().catch(() => {})); // the connection may be closed
  }
}

/** The details from the editor say more than the error's message. */
function describeError(error: unknown): string {
  const details =
    error instanceof RequestError ? (error.data as { details?: unknown } | undefined)?.details : undefined;
  if (typeof details === "string") return details;
  return error instanceof Error ? error.message : String(error);
}

export interface ThreadTerminals extends TerminalCards {
  /** Called for each event after its updates are shown. */
  handleEvent(event: TurnEvent): void;
}

export function terminalCards(calls: CallTracker, show: (update: SessionUpdate) => void): ThreadTerminals {
  const pendingReleases = new Map<string, () => void>();

  function release(call: string): void {
    pendingReleases.get(call)?.();
    pendingReleases.delete(call);
  }

  return {
    showTerminal(call, terminalId) {
      const shown = calls.findOpen(call);
      if (shown !== undefined) shown.terminalId = terminalId;
      const toolCallId = shown?.toolCallId ?? call;
      show({ sessionUpdate: "tool_call_update", toolCallId, content: [{ type: "terminal", terminalId }] });
    },
    scheduleRelease(call, free) {
      if (calls.findOpen(call) === undefined) free();
      else pendingReleases.set(call, free);
    },
    handleEvent(event) {
      if (event.type === "tool_result") release(event.id);
      if (event.type === "ended" || event.type === "turn_failed")
        for (const call of [...pendingReleases.keys()]) release(call);
    },
  };
}

function toExit(code: number | null | undefined, signal: string | null | undefined): Exit {
  if (signal) return { signal };
  return typeof code === "number" ? { code } : { unknown: true };
}
