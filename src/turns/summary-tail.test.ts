import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type Message, type Role, textPart } from "../core/message.ts";
import { providerHistory } from "../core/projection.ts";
import { estimateTokens, findTailStart } from "./summary-tail.ts";

const message = (seq: number, role: Role, more: Partial<Message> = {}): Message => ({
  session: "s",
  seq,
  at: 0,
  role,
  parts: [textPart("word ".repeat(8))],
  ...more,
});
const talk = (...roles: readonly Role[]): Message[] => roles.map((role, at) => message(at + 1, role));
const plenty = { maxTokens: 1_000_000 };

describe("the tail that is not summarised", () => {
  it("is the last three exchanges", () => {
    const shown = talk("user", "assistant", "user", "assistant", "user", "assistant", "user", "assistant");
    expect(findTailStart(shown, plenty)).toBe(2);
    expect(findTailStart(shown.slice(0, 2), plenty)).toBe(0);
    expect(findTailStart([], plenty)).toBe(0);
  });

  it("is shorter, or empty, when the exchanges are long", () => {
    const shown = talk("user", "assistant", "user", "assistant", "user", "assistant");
    expect(findTailStart(shown, { maxTokens: 25 })).toBe(4);
    expect(findTailStart(shown, { maxTokens: 5 })).toBe(6);
  });

  it("always has the input, however long it is, and the messages after it", () => {
    const shown = talk("user", "assistant", "user", "user", "assistant");
    const isInput = ({ seq }: Message): boolean => seq === 3 || seq === 4;
    expect(findTailStart(shown, { isInput, maxTokens: 0 })).toBe(2);
  });

  it("starts at a message of a person, and counts consecutive ones as one", () => {
    const shown = talk("user", "assistant", "user", "user", "assistant", "note", "user", "assistant");
    expect(findTailStart(shown, { maxTokens: 70 })).toBe(2);
    expect(findTailStart(shown, { maxTokens: 25 })).toBe(6);
  });

  it("never has a result without its call, nor a call without its result", () => {
    const part = fc.constantFrom("user", "answer", "call", "result", "note");
    fc.assert(
      fc.property(fc.array(part, { maxLength: 40 }), fc.nat(200), fc.nat(39), (parts, maxTokens, at) => {
        let calls = 0;
        const open: string[] = [];
        const shown = parts.map((what, index) => {
          if (what === "call") {
            calls += 1;
            open.push(`c${calls}`);
            return message(index + 1, "assistant", {
              toolCalls: [{ id: `c${calls}`, name: "look", arguments: {} }],
            });
          }
          const id = what === "result" ? open.shift() : undefined;
          if (id !== undefined) return message(index + 1, "tool", { toolCallId: id });
          return message(index + 1, what === "answer" ? "assistant" : what === "note" ? "note" : "user");
        });
        const input = shown[at]?.role === "user" ? { isInput: (one: Message) => one.seq === at + 1 } : {};
        const start = findTailStart(shown, { maxTokens, ...input });
        const [head, tail] = [shown.slice(0, start), shown.slice(start)];
        const called = new Set(head.flatMap(({ toolCalls = [] }) => toolCalls.map(({ id }) => id)));
        expect(tail.filter(({ toolCallId }) => toolCallId !== undefined && called.has(toolCallId))).toEqual(
          [],
        );
        if ("isInput" in input) expect(start).toBeLessThanOrEqual(at);
        // The tail sent to a provider has every tool result that the whole history would have there.
        const results = (list: readonly Message[]): number =>
          providerHistory(list).filter(({ role, origin }) => role === "tool" && !origin?.interrupted).length;
        expect(results(head) + results(tail)).toBe(results(shown));
      }),
    );
  });
});

describe("the estimate of tokens", () => {
  it("is a quarter of the bytes, with the arguments of tools, and more for images", () => {
    expect(estimateTokens([{ parts: [textPart("a".repeat(400))] }])).toBe(100);
    expect(estimateTokens([{ parts: [textPart("夜".repeat(400))] }])).toBe(300);
    const call = { parts: [], toolCalls: [{ id: "1", name: "look", arguments: { at: "x".repeat(400) } }] };
    expect(estimateTokens([call])).toBeGreaterThan(100);
    const picture = { type: "image", blob: "ab", mimeType: "image/png", size: 3 } as const;
    expect(estimateTokens([{ parts: [picture] }])).toBeGreaterThan(1000);
  });
});
