import type { WriteStream } from "node:tty";

export interface ProgressLine {
  at(text: string): void;
  /** Takes the line away. */
  end(): void;
}

const EVERY_MS = 500;

/** One line that tells how far a part is, for people who watch; nothing where nobody does. */
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
