import { type Editor, matchesKey } from "@earendil-works/pi-tui";
import type { Talk } from "../../../gateway/talk.ts";

/** Two presses of Ctrl-C within this leave. */
const TWICE_MS = 1500;

export interface LeaveKeys {
  /** Whether the key was one of these, and is dealt with. */
  pressed(data: string): boolean;
  leave(code: number): void;
  /** The exit code, when it is time to go. */
  readonly left: Promise<number>;
  forget(): void;
}

/**
 * Ctrl-C stops the answer, else empties the editor; twice it leaves. Esc stops the answer. Ctrl-D on an empty line
 * leaves. So do the signals of a terminal that is closed and of a system that shuts down.
 */
export function leaveKeys(options: {
  readonly talk: Talk;
  readonly editor: Editor;
  hint(text: string): void;
  render(): void;
}): LeaveKeys {
  const { talk, editor, hint, render } = options;
  let leave: (code: number) => void = () => {};
  const left = new Promise<number>((resolve) => {
    leave = resolve;
  });
  let pressedAt = Number.NEGATIVE_INFINITY;
  const ended = (signal: NodeJS.Signals): void => leave(signal === "SIGHUP" ? 129 : 143);
  process.once("SIGTERM", ended);
  process.once("SIGHUP", ended);

  function interrupt(): void {
    const isSecond = performance.now() - pressedAt < TWICE_MS;
    pressedAt = performance.now();
    if (isSecond) leave(0);
    else if (talk.isAnswering()) void talk.stop();
    else editor.setText("");
    hint("Ctrl-C again leaves; everything is kept");
    render();
  }

  return {
    pressed(data) {
      hint("");
      if (matchesKey(data, "ctrl+c")) interrupt();
      else if (matchesKey(data, "ctrl+d") && editor.getText() === "") leave(0);
      else if (matchesKey(data, "escape") && talk.isAnswering() && !editor.isShowingAutocomplete())
        void talk.stop();
      else return false;
      return true;
    },
    leave,
    left,
    forget() {
      process.off("SIGTERM", ended);
      process.off("SIGHUP", ended);
    },
  };
}
