import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { getText, type NewMessage } from "../../../core/message.ts";
import { mergeMessages } from "./merge-messages.ts";
import type { MappedMessage } from "./message-mapping.ts";

function said(words: string, at?: number, more: Partial<NewMessage> = {}): MappedMessage {
  const message = { role: "user" as const, parts: [{ type: "text" as const, text: words }] };
  return { message: { ...message, ...(at !== undefined && { at }), ...more }, blobs: [] };
}

function texts(messages: readonly MappedMessage[]): string[] {
  return messages.map(({ message }) => getText(message));
}

function union(database: string, transcript: string): string {
  const spoken = (words: string, at: number) => [...words].map((word, n) => said(word, at + n));
  return texts(mergeMessages(spoken(database, 100), spoken(transcript, 100)).messages).join("");
}

describe("two records of one session", () => {
  it.each([
    ["abc", "", "abc"],
    ["", "abc", "abc"],
    ["abc", "abc", "abc"],
    ["ab", "abcd", "abcd"],
    ["abcd", "ab", "abcd"],
    ["acd", "abc", "abcd"],
    ["aabba", "aba", "aabba"],
  ])("%j and %j are %j together", (database, transcript, whole) => {
    expect(union(database, transcript)).toBe(whole);
  });

  it("are merged by time if they have nothing in common", () => {
    const { messages } = mergeMessages(
      [said("b", 20), said("d", 40)],
      [said("a", 10), said("c", 30), said("?")],
    );
    expect(texts(messages)).toEqual(["a", "b", "c", "d", "?"]);
  });

  it("give one message for a common one: the time of the row, and the fields of both", () => {
    const row = said("look ", 100, { tokens: 5, extra: { a: 1 } });
    const image = { type: "image" as const, blob: "b".repeat(64), mimeType: "image/png", size: 1 };
    const parts = [{ type: "text" as const, text: "look" }, image];
    const line = said("look", 107, { parts, reasoning: "r", extra: { a: 2, b: 3 } });
    const { messages, both, databaseOnly, transcriptOnly } = mergeMessages([row], [line]);
    expect(messages[0]?.message).toEqual({
      role: "user",
      parts,
      at: 100,
      tokens: 5,
      reasoning: "r",
      extra: { a: 1, b: 3 },
    });
    expect([both, databaseOnly, transcriptOnly]).toEqual([1, 0, 0]);
  });

  it("keep messages with equal text but different roles, calls or tools apart", () => {
    const assistant = said("ok", 1, { role: "assistant" });
    const tool = said("ok", 1, { role: "tool", toolCallId: "c1" });
    const other = said("ok", 1, { role: "tool", toolCallId: "c2" });
    expect(mergeMessages([said("ok", 1), tool], [assistant, other]).messages).toHaveLength(4);
  });

  it("lose nothing, add nothing, and keep each other's order", () => {
    const words = fc.array(fc.constantFrom("a", "b", "c", "d", "e"), { maxLength: 12 });
    fc.assert(
      fc.property(words, words, (left, right) => {
        const rows = left.map((word, n) => said(word, n * 10));
        const lines = right.map((word, n) => said(word, n * 10 + 5));
        const { messages, both, databaseOnly, transcriptOnly } = mergeMessages(rows, lines);
        const whole = texts(messages);
        expect(isWithin(left, whole) && isWithin(right, whole)).toBe(true);
        expect(whole).toHaveLength(left.length + right.length - both);
        expect([both + databaseOnly, both + transcriptOnly]).toEqual([left.length, right.length]);
      }),
    );
  });

  it("are merged even if they are long and have little in common", () => {
    const rows = Array.from({ length: 3000 }, (_, n) => said(`row ${n}`, n));
    const lines = Array.from({ length: 3000 }, (_, n) => said(n % 10 === 0 ? `row ${n}` : `line ${n}`, n));
    const { messages, both } = mergeMessages(rows, lines);
    expect([messages.length, both]).toEqual([5700, 300]);
  });
});

/** Whether `whole` contains all of `part`, in the same order. */
function isWithin(part: readonly string[], whole: readonly string[]): boolean {
  let from = 0;
  for (const word of part) {
    const at = whole.indexOf(word, from);
    if (at === -1) return false;
    from = at + 1;
  }
  return true;
}
