import { describe, expect, it } from "vitest";
import type { Message, Role } from "../core/message.ts";
import { echo } from "./echo.ts";

const history = (...texts: readonly (readonly [Role, string])[]): Message[] =>
  texts.map(([role, text], index) => ({
    session: "s",
    seq: index + 1,
    at: 0,
    role,
    parts: [{ type: "text", text }],
  }));

async function answer(shown: readonly Message[], signal = new AbortController().signal): Promise<string[]> {
  const pieces: string[] = [];
  for await (const event of echo.run({ session: "s", blob: async () => undefined, history: shown }, signal)) {
    if (event.type !== "text") throw new Error(`the echo ${event.type}`);
    pieces.push(event.text);
  }
  return pieces;
}

describe("the echo agent", () => {
  it("repeats the message, word by word", async () => {
    expect(await answer(history(["user", "hello  there\nyou"]))).toEqual([
      "You ",
      "said: ",
      "hello ",
      " ",
      "there\n",
      "you",
    ]);
  });

  it("also repeats the message before, and skips its own answers and notes", async () => {
    const shown = history(["user", "one"], ["assistant", "You said: one"], ["note", "x"], ["user", "two"]);
    expect((await answer(shown)).join("")).toBe("You said: two (before that: one)");
  });

  it("answers an empty history", async () => {
    expect((await answer([])).join("")).toBe("You said: ");
    expect((await answer(history(["assistant", "Welcome"]))).join("")).toBe("You said: ");
  });

  it("ends when it is stopped", async () => {
    expect(await answer(history(["user", "hello"]), AbortSignal.abort())).toEqual([]);
    const abort = new AbortController();
    const heard: string[] = [];
    for await (const event of echo.run(
      { session: "s", blob: async () => undefined, history: history(["user", "a b c"]) },
      abort.signal,
    )) {
      if (event.type === "text") heard.push(event.text);
      if (heard.length === 2) abort.abort();
    }
    expect(heard).toEqual(["You ", "said: "]);
  });
});
