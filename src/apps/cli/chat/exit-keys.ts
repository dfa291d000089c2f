import { type Editor, matchesKey } from "@earendil-works/pi-tui";
import type { AgentChat } from "../../../turns/agent-chat.ts";
import { onShutdownSignals, toSignalExitCode } from "../../shutdown-signals.ts";

/** Two presses of Ctrl-C within this time exit. */
const DOUBLE_PRESS_MS = 1500;
/** The time limit for a shutdown after a signal. */
const CLOSE_LIMIT_MS = 10_000;

export interface ExitKeys {
  /** True when the key was handled here. */
  handleKey(data: string): boolean;
  exit(code: number): void;
  /** Resolves with the exit code on exit. */
  readonly exitCode: Promise<number>;
  dispose(): void;
}

/** Ctrl-C stops the answer or else clears the editor; twice it exits. Esc stops the answer. Ctrl-D and signals exit. */
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
    hint("Press Ctrl-C again to exit; everything is saved");
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
