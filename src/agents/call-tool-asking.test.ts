import { describe, expect, it } from "vitest";
import type { ApprovalOutcome } from "../core/approval.ts";
import { getText, textPart } from "../core/message.ts";
import type { Tool } from "../ports/tool.ts";
import { callTool } from "./call-tool.ts";

describe("a tool that requires an approval", () => {
  it.each<[ApprovalOutcome, string]>([
    ["once", "done"],
    ["session", "done"],
    ["always", "done"],
    ["deny", "The person did not allow remove."],
    ["never", "The person did not allow remove."],
    [
      "expired",
      "Nobody answered in time whether remove may do this, so it was not done. The person may be away: ask them before you try it again.",
    ],
    [
      "unasked",
      "remove may do this only when the person allows it, and here nobody can be asked, so it was not done.",
    ],
  ])("runs or not, and gives the reason: %s", async (outcome, expected) => {
    let acted = 0;
    const tool: Tool = {
      name: "remove",
      description: "Removes.",
      input: { type: "object" },
      effect: "external",
      buildApprovalRequest: () => ({ title: "Remove it?" }),
      run: async () => {
        acted += 1;
        return { parts: [textPart("done")] };
      },
    };
    const requested = { id: "1", name: "remove", arguments: {} };
    const call = callTool(requested, [tool], new AbortController().signal);
    const effects: unknown[] = [];
    for (;;) {
      const { value, done } = await call.next();
      if (done) {
        expect(value && getText(value)).toBe(expected);
        break;
      }
      if (value.type === "approval") value.answer(outcome);
      else if (value.type === "tool_call") effects.push(value.call.effect);
    }
    const isAllowed = expected === "done";
    expect([acted, effects]).toEqual(isAllowed ? [1, ["external"]] : [0, [undefined]]);
  });
});

describe("a tool whose effect depends on its arguments", () => {
  it.each([
    ["look", undefined],
    ["change", "external"],
  ])("emits the effect with the call: %s", async (action, effect) => {
    const tool: Tool = {
      name: "thing",
      description: "Looks or changes.",
      input: { type: "object" },
      effect: "external",
      getEffect: (args) => ((args as { action: string }).action === "change" ? "external" : "none"),
      run: async () => ({ parts: [textPart("done")] }),
    };
    const requested = { id: "1", name: "thing", arguments: { action } };
    const call = callTool(requested, [tool], new AbortController().signal);
    const { value } = await call.next();
    expect(value).toMatchObject({ type: "tool_call", call: { name: "thing" } });
    expect(value && "call" in value && value.call?.effect).toBe(effect);
  });
});
