import { toPrintable } from "../../../core/printable.ts";
import type { TurnEvent } from "../../../turns/active-turns.ts";
import type { Io } from "../io.ts";

export interface AnswerPrinter {
  handleEvent(event: TurnEvent): void;
  /** Prints the answer to this message next. */
  expect(messageId: string): void;
  /** Prints the rest of the answer and a line feed. */
  complete(text: string): void;
}

/** Streams the answer to one message to stdout. It ignores other turns that run in this process. */
export function answerPrinter(io: Io): AnswerPrinter {
  /** The message of the answer in progress. */
  let current = { to: "", text: "" };
  let expected: string | undefined;
  /** The printed length of the expected answer. The start of the next answer does not change it. */
  let written = 0;
  const flush = (): void => {
    if (current.to !== expected) return;
    // A chunk may end inside a surrogate pair: the first half waits for the second.
    const end = /[\ud800-\udbff]$/.test(current.text) ? -1 : current.text.length;
    io.output.write(sanitizeForOutput(io, current.text.slice(written, end)));
    written = current.text.slice(0, end).length;
  };
  return {
    handleEvent(event) {
      if (event.type === "started")
        current = { to: event.inputs.at(-1)?.origin?.platformMessageId ?? "", text: "" };
      else if (event.type === "text") {
        current = { to: current.to, text: current.text + event.text };
        flush();
      }
    },
    expect(messageId) {
      expected = messageId;
      written = 0;
      flush();
    },
    complete(text) {
      if (text !== "") io.output.write(`${sanitizeForOutput(io, text.slice(written))}\n`);
      expected = undefined;
    },
  };
}

/** A pipe gets the exact text. A terminal gets no control characters, so that no message controls it. */
export function sanitizeForOutput(io: Io, text: string): string {
  return io.output.isTTY ? toPrintable(text) : text;
}
