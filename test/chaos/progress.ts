import type { WriteStream } from "node:tty";

export interface ProgressLine {
  at(text: string): void;
  /** Removes the line. */
  end(): void;
}

const EVERY_MS = 500;

/** One line with the progress of a part in a terminal; nothing without a terminal. */
export function progressLine(
  output: Pick<WriteStream, "isTTY" | "columns" | "write">,
  name: string,
): ProgressLine {
  if (!output.isTTY) return { at() {}, end() {} };
  const start = performance.now();
  let text = "";
  const show = (): void => {
    const line = `${name}: ${((performance.now() - start) / 1000).toFixed(0)} s${text}`;
    output.write(`\r\x1b[K${line.slice(0, (output.columns || 80) - 1)}`);
  };
  const timer = setInterval(show, EVERY_MS);
  show();
  return {
    at(more) {
      text = `, ${more}`;
    },
    end() {
      clearInterval(timer);
      output.write("\r\x1b[K");
    },
  };
}
