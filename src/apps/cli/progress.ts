import type { Io } from "./io.ts";

export interface Progress {
  /** `part` names the step in progress. */
  update(done: number, all: number, what?: string): void;
  /** Removes the line. */
  end(): void;
}

/** A progress line on a terminal; nothing in a log or a pipe. */
export function createProgress(io: Io, what: string): Progress {
  let shown = "";
  const show = (text: string): void => {
    io.notices.write(`\r${text.padEnd(shown.length)}`);
    shown = text;
  };
  return {
    update(done, all, part) {
      if (io.notices.isTTY !== true || all === 0) return;
      const text = `${what} ${Math.floor((100 * done) / all)} %${part ? `: ${part.replaceAll("_", " ")}` : ""}`;
      if (text !== shown) show(text);
    },
    end() {
      if (shown === "") return;
      io.notices.write("\r\u001B[K");
      shown = "";
    },
  };
}
