import { describe, expect, it } from "vitest";
import { model } from "./model.ts";
import { findModelWindow } from "./window.ts";

describe("the context window of a model", () => {
  it.each([
    ["claude-sonnet-5-5", 200_000],
    ["anthropic/claude-opus-4-6", 200_000],
    ["gpt-4o-mini", 128_000],
    ["gpt-4.1-nano", 1_000_000],
    ["gpt-4", 8_192],
    ["gpt-4-turbo", 128_000],
    ["openai/gpt-5.2", 272_000],
    ["o3-mini", 200_000],
    ["google/gemini-2.5-pro", 1_000_000],
    ["llama3", 8_192],
    ["llama3.3:70b", 128_000],
    ["something-new", 128_000],
    ["", 128_000],
  ])("%s: %i tokens", (name, window) => {
    expect(findModelWindow(name)).toBe(window);
  });

  it("can be configured for the configured model only", () => {
    const agent = model({
      provider: "compatible",
      model: "mine",
      baseUrl: "http://localhost/v1",
      window: 4096,
    });
    expect(agent.contextWindow).toBe(4096);
    expect([agent.getContextWindow?.("mine"), agent.getContextWindow?.("claude-x")]).toEqual([4096, 200_000]);
    expect(model({ provider: "anthropic", model: "claude-x" }).contextWindow).toBe(200_000);
  });
});
