import { describe, expect, it } from "vitest";
import type { Message, Role } from "../core/message.ts";
import { echo } from "./echo.ts";

const history = (...said: readonly (readonly [Role, string])[]): Message[] =>
  said.map(([role, text], index) => ({
    session: "s",
    seq: index + 1,
    at: 0,
    role,
    parts: [{ type: "text", text }],
  }));

describe("the echo agent", () => {
  it("repeats what was said", () => {
    expect(echo(history(["user", "hello"]))).toBe("You said: hello");
  });

  it("shows that it remembers what was said before, past its own answers and notes", () => {
    expect(
      echo(history(["user", "one"], ["assistant", "You said: one"], ["note", "x"], ["user", "two"])),
    ).toBe("You said: two (before that: one)");
  });

  it("has an answer to nothing", () => {
    expect(echo([])).toBe("You said: ");
    expect(echo(history(["assistant", "Welcome"]))).toBe("You said: ");
  });
});
