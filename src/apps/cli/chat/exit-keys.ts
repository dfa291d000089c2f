import { type Editor, matchesKey } from "@earendil-works/pi-tui";
import type { AgentChat } from "../../../turns/agent-chat.ts";
import { onShutdownSignals, toSignalExitCode } from "../../shutdown-signals.ts";

/** Two presses of Ctrl-C within this leave. */
const DOUBLE_PRESS_MS = 1500;
/** How long closing may take after a signal. */
const CLOSE_LIMIT_MS = 10_000;

export interface ExitKeys {
  /** Whether the key was one of these, and is dealt with. */
  handleKey(data: string): boolean;
  exit(code: number): void;
  /** The exit code, when it is time to go. */
  readonly exitCode: Promise<number>;
  dispose(): void;
}

/**
 * Ctrl-C stops the answer, else empties the editor; twice it leaves. Esc stops the answer. Ctrl-D on an empty line
 * leaves. So do the signals of a terminal that is closed and of a system that shuts down.
 */
export function exitKeys(options: {
  readonly talk: AgentChat;
  readonly editor: Editor;
  hint(text: string): void;
  render(): void;
}): ExitKeys {
  const { talk, editor, hint, render } = options;
  let leave: (code: number) => void = () => {};
  const left = new Promise<number>((resolve) => {
    leave = resolve;
  });
  let pressedAt = Number.NEGATIVE_INFINITY;
  const forget = onShutdownSignals((signal) => leave(toSignalExitCode(signal)), {
    signals: ["SIGTERM", "SIGHUP"],
    limitMs: CLOSE_LIMIT_MS,
  });

  function interrupt(): void {
    const isSecond = performance.now() - pressedAt < DOUBLE_PRESS_MS;
    pressedAt = performance.now();
    if (isSecond) leave(0);
    else if (talk.isAnswering()) void talk.stop();
    else editor.setText("");
    hint("Ctrl-C again leaves; everything is kept");
    render();
  }

  return {
    handleKey(data) {
      hint("");
      if (matchesKey(data, "ctrl+c")) interrupt();
      else if (matchesKey(data, "ctrl+d") && editor.getText() === "") leave(0);
      else if (matchesKey(data, "escape") && talk.isAnswering() && !editor.isShowingAutocomplete())
        void talk.stop();
      else return false;
      return true;
    },
    exit: leave,
    exitCode: left,
    dispose: forget,
  };
}
