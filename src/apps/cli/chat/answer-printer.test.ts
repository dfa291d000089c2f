import { PassThrough } from "node:stream";
import { describe, expect, it } from "vitest";
import type { TurnEvent } from "../../../turns/active-turns.ts";
import type { Io } from "../io.ts";
import { answerPrinter } from "./answer-printer.ts";

function printer(isTTY = false) {
  const output = Object.assign(new PassThrough(), { isTTY });
  const io: Io = {
    input: new PassThrough(),
    output,
    notices: new PassThrough(),
    environment: {},
    now: () => 0,
  };
  const out = (): string => String(output.read() ?? "");
  return { ...answerPrinter(io), out };
}

function buildStart(id: string): TurnEvent {
  const input = {
    session: "s",
    seq: 1,
    at: 0,
    role: "user",
    parts: [],
    origin: { platformMessageId: id },
  } as const;
  return { type: "started", session: "s", inputs: [input] };
}

const text = (words: string): TurnEvent => ({ type: "text", session: "s", text: words });

describe("the answer to a line", () => {
  it("is streamed and ends with a line feed", () => {
    const { handleEvent, expect: await_, complete, out } = printer();
    await_("a");
    handleEvent(buildStart("a"));
    handleEvent(text("Once "));
    expect(out()).toBe("Once ");
    handleEvent(text("upon"));
    complete("Once upon");
    expect(out()).toBe("upon\n");
  });

  it("is printed completely when it started or ended before the printer expected it", () => {
    const early = printer();
    early.handleEvent(buildStart("a"));
    early.handleEvent(text("Once "));
    early.expect("a");
    expect(early.out()).toBe("Once ");
    const late = printer();
    late.handleEvent(buildStart("a"));
    late.handleEvent(text("Once"));
    late.handleEvent(buildStart("b"));
    late.expect("a");
    late.complete("Once");
    expect(late.out()).toBe("Once\n");
    const elsewhere = printer();
    elsewhere.expect("a");
    elsewhere.complete("Once");
    expect(elsewhere.out()).toBe("Once\n");
  });

  it("is printed once, even if the next answer starts earlier, which is not printed", () => {
    const { handleEvent, expect: await_, complete, out } = printer();
    await_("a");
    handleEvent(buildStart("a"));
    handleEvent(text("Once"));
    handleEvent(buildStart("b"));
    handleEvent(text("somebody else's"));
    complete("Once");
    handleEvent(text(" business"));
    expect(out()).toBe("Once\n");
  });

  it("is never cut inside a character", () => {
    const { handleEvent, expect: await_, complete, out } = printer();
    await_("a");
    handleEvent(buildStart("a"));
    handleEvent(text("a\ud83d"));
    expect(out()).toBe("a");
    handleEvent(text("\ude42b"));
    complete("a🙂b");
    expect(out()).toBe("🙂b\n");
  });

  it("prints no empty line for an empty answer", () => {
    const { expect: await_, complete, out } = printer();
    await_("a");
    complete("");
    expect(out()).toBe("");
  });

  it("cannot control a terminal, and reaches a pipe unchanged", () => {
    for (const [isTTY, printed] of [
      [true, "\u241b[2Jx\n"],
      [false, "\u001b[2Jx\n"],
    ] as const) {
      const { expect: await_, complete, out } = printer(isTTY);
      await_("a");
      complete("\u001b[2Jx");
      expect(out()).toBe(printed);
    }
  });
});
