import type { Io } from "./io.ts";

export interface Progress {
  at(done: number, all: number): void;
  /** Takes the line away again. */
  end(): void;
}

/** One line that counts up, for people who watch; a log or a pipe gets nothing. */
export function progressOn(io: Io, what: string): Progress {
  let shown = "";
  const show = (text: string): void => {
    io.notices.write(`\r${text.padEnd(shown.length)}`);
    shown = text;
  };
  return {
    at(done, all) {
      if (io.notices.isTTY !== true || all === 0) return;
      const text = `${what} ${Math.floor((100 * done) / all)} %`;
      if (text !== shown) show(text);
    },
    end() {
      if (shown === "") return;
      show("");
      io.notices.write("\r");
    },
  };
}
