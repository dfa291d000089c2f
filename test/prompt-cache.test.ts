import { describe, expect, it } from "vitest";
import { runCachedConversation } from "./support/cached-conversation.ts";

describe("a conversation of ten turns with tool calls", () => {
  it("starts each request with the complete previous request, so that the provider's cache applies", async () => {
    const requests = await runCachedConversation(10);
    expect(requests).toHaveLength(20);
    for (const [at, { turn, characters, share }] of requests.entries()) {
      const before = requests[at - 1];
      // Without the two closing brackets of the previous request.
      if (before !== undefined)
        expect(Math.round(share * characters), `turn ${turn}`).toBeGreaterThanOrEqual(before.characters - 2);
    }
    const firstOf = (turn: number) => requests.find((request) => request.turn === turn)?.share;
    expect(firstOf(2)).toBeGreaterThanOrEqual(0.95);
    expect(firstOf(10)).toBeGreaterThanOrEqual(0.95);
  }, 60_000);
});
