import { toPrintable } from "../../../core/printable.ts";
import type { TalkEvent } from "../../../turns/agent-chat.ts";
import type { Io } from "../io.ts";

export interface AnswerPrinter {
  handleEvent(event: TalkEvent): void;
  /** The next answer to be printed is the one to this message. */
  expect(messageId: string): void;
  /** Prints what has not been printed of it, and ends the line. */
  complete(text: string): void;
}

/** Prints the answer to one message as it arrives; answers to others, which run here too, are not ours to print. */
export function answerPrinter(io: Io): AnswerPrinter {
  /** The answer that is being written here. */
  let current = { to: "", text: "" };
  let expected: string | undefined;
  /** How much of the expected answer is printed; it stays so when the next answer has begun already. */
  let written = 0;
  const flush = (): void => {
    if (current.to !== expected) return;
    // Half of a character is kept until the other half has come.
    const end = /[\ud800-\udbff]$/.test(current.text) ? -1 : current.text.length;
    io.output.write(sanitizeForOutput(io, current.text.slice(written, end)));
    written = current.text.slice(0, end).length;
  };
  return {
    handleEvent(event) {
      if (event.type === "begun")
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

/** What a pipe gets is what was said; on a terminal, nothing that was said may take the screen over. */
export function sanitizeForOutput(io: Io, text: string): string {
  return io.output.isTTY ? toPrintable(text) : text;
}
