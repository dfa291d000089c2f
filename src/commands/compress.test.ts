import { describe, expect, it } from "vitest";
import { heldAgent, me, talkIn } from "../../test/support/talking.ts";
import { openHome } from "../../test/support/test-home.ts";
import { echo } from "../agents/echo.ts";
import { script } from "../agents/script.ts";
import type { Agent } from "../ports/agent.ts";
import type { ChatCommandContext } from "./command.ts";
import { compressChatCommand } from "./compress.ts";

const summing = (say: unknown): Agent =>
  script({
    window: 100_000,
    answers: [{ to: "^Write a summary", say }, { say: ["Yes: ", { echo: true }] }],
  });

async function openRoom(agent: Agent, questions: number) {
  const home = await openHome();
  const { talk, place, ask } = await talkIn(home, agent);
  const here: ChatCommandContext = { ...place, agent };
  for (let n = 1; n <= questions; n += 1) await ask(`question ${n} ${"and so on ".repeat(20)}`);
  const shown = async (): Promise<number | undefined> => {
    const found = await talk.findCurrent();
    return found && home.sessions.shownLength(me, found.session.id);
  };
  return { home, talk, ask, shown, say: async () => (await compressChatCommand.run(here, "")).text };
}

describe("/compress", () => {
  it("summarises all but the last exchanges, and reports how much smaller the prompt is", async () => {
    const { say, shown, ask, home } = await openRoom(summing("Ten questions, ten times yes."), 10);
    expect(await say()).toMatch(/^Summed up: 20 → 7 messages, ~[\d,]+ → ~[\d,]+ tokens\./);
    expect(await shown()).toBe(7);
    expect(await ask("and now?")).toBe("Yes: and now?");
    expect((await home.sessions.search(me, '"question 2"')).length).toBeGreaterThan(0);
  });

  it("does not change a short session", async () => {
    const { say, shown } = await openRoom(summing("x"), 1);
    expect(await say()).toBe("This session is too short to be summed up. Nothing was changed.");
    const three = await openRoom(summing("x"), 3);
    expect(await three.say()).toMatch(/too short/);
    expect([await shown(), await three.shown()]).toEqual([2, 6]);
  });

  it("is refused for an agent without a model", async () => {
    const { say, shown } = await openRoom(echo, 10);
    expect(await say()).toMatch(/^No model answers here/);
    expect(await shown()).toBe(20);
  });

  it("reports why there is no summary, and changes nothing", async () => {
    const { say, shown } = await openRoom(summing([{ fail: "The line is dead." }]), 10);
    await expect(say()).rejects.toMatchObject({
      code: "agent_failed",
      message: "The session could not be summed up: The line is dead. Nothing was changed.",
    });
    expect(await shown()).toBe(20);
  });

  it("is refused during an answer", async () => {
    const agent = Object.assign(heldAgent(), { window: 1000 });
    const { talk, say } = await openRoom(agent, 0);
    const said = await talk.submit("long story");
    const held = await agent.asked();
    await held.say("Once ");
    await expect(say()).rejects.toMatchObject({ code: "session_busy" });
    held.end();
    await said.answer;
  });
});
