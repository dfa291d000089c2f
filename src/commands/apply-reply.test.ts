import { expect, it } from "vitest";
import { applyReply, type ReplyHandlers } from "./apply-reply.ts";
import type { ChatCommandContext, CommandReply } from "./command.ts";

const context = {} as ChatCommandContext;
const whole: CommandReply = { text: "done", moved: true, say: "again", queued: true, leave: true };

function recordSteps(change: Partial<ReplyHandlers> = {}) {
  const steps: unknown[] = [];
  const handlers: ReplyHandlers = {
    onMoved: () => void steps.push("moved"),
    show: (texts) => void steps.push(["show", ...texts]),
    submit: (text, queued) => void steps.push(["submit", text, queued]),
    leave: () => void steps.push("leave"),
    ...change,
  };
  return { steps, handlers };
}

it("redraws, shows, leaves and submits, in this order", async () => {
  const { steps, handlers } = recordSteps();
  await applyReply(context, Promise.resolve(whole), handlers);
  expect(steps).toEqual(["moved", ["show", "done"], "leave", ["submit", "again", true]]);
});

it("submits before it shows if the chat requires it", async () => {
  const { steps, handlers } = recordSteps({ submitsFirst: true });
  await applyReply(context, Promise.resolve({ text: "", say: "again" }), handlers);
  expect(steps).toEqual([["submit", "again", false], ["show"]]);
});

it("shows the text of an error if the chat formats errors, and otherwise rejects", async () => {
  const failing = () => Promise.reject(new Error("no"));
  const { steps, handlers } = recordSteps({ formatError: (error) => `failed: ${(error as Error).message}` });
  await applyReply(context, failing(), handlers);
  expect(steps).toEqual([["show", "failed: no"]]);
  await expect(applyReply(context, failing(), recordSteps().handlers)).rejects.toThrow("no");
});

it("works in a chat that can only show text", async () => {
  const steps: unknown[] = [];
  await applyReply(context, Promise.resolve(whole), { show: (texts) => void steps.push(texts) });
  expect(steps).toEqual([["done"]]);
});
