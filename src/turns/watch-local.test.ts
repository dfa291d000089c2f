import { describe, expect, it } from "vitest";
import { listeners } from "../../test/support/listeners.ts";
import { runIn } from "../../test/support/running.ts";
import { heldAgent, talkIn } from "../../test/support/talking.ts";
import { MINUTE, openHome } from "../../test/support/test-home.ts";
import { echo } from "../agents/echo.ts";
import { getText } from "../core/message.ts";
import { localSource, type Source } from "../core/source.ts";
import type { Agent } from "../ports/agent.ts";
import { pollLocalProcesses, watchLocalProcesses } from "./watch-local.ts";

const terminal = localSource();
const elsewhere: Source = { platform: "telegram", chatId: "1", chatType: "dm", userId: "1" };

/** A terminal that is told of its programs. */
async function desk(agent: Agent = echo) {
  const home = await openHome();
  const talking = await talkIn(home, agent);
  const told: string[] = [];
  const changes = listeners();
  const over = new AbortController();
  const options = {
    store: home.store,
    clock: home.clock,
    isMine: ({ target }: { readonly target: Source }) => target.platform === "local",
    show: (words: string) => {
      told.push(words);
      changes.tell();
    },
    wake: talking.talk.wake,
    signal: over.signal,
  };
  return { home, ...talking, told, changes, over, options, look: () => pollLocalProcesses(options) };
}

describe("a terminal", () => {
  it("gets the reports of its own processes and of no others, each once, whichever process polls", async () => {
    const { home, told, look } = await desk();
    const mine = await runIn(home, terminal, { everyMs: MINUTE });
    const theirs = await runIn(home, elsewhere, { everyMs: MINUTE });
    for (const one of [mine, theirs]) await one.print("hello\n");
    home.clock.pass(MINUTE);
    await Promise.all([look(), look()]);
    for (const one of [mine, theirs]) await one.end({ code: 1 });
    await Promise.all([look(), look()]);
    await look();
    expect(told.map((words) => words.split("\n")[0])).toEqual([
      `\`npm test\` (${mine.id}) runs for 1 min.`,
      `\`npm test\` (${mine.id}) ended with code 1 after 1 min.`,
    ]);
    expect((await theirs.now()).reported.end).toBe(false);
  });

  it("gets the reports of processes that ended while it was closed, and while it is open, until it closes", async () => {
    const { home, told, changes, over, options } = await desk();
    const before = await runIn(home, terminal, { mode: "result", command: "first" });
    await before.end();
    const watching = watchLocalProcesses(options);
    await changes.until(() => told[0]);
    const after = await runIn(home, terminal, { mode: "result", command: "second" });
    await after.end();
    await changes.until(() => told[1]);
    over.abort();
    await watching;
    const late = await runIn(home, terminal, { mode: "result" });
    await late.end();
    expect((await late.now()).reported.end).toBe(false);
    expect(told.map((words) => words.slice(0, 8))).toEqual(["`first` ", "`second`"]);
  });

  it("has the agent answer to the end of a process that wakes it", async () => {
    const agent = heldAgent();
    const { home, told, look, events } = await desk(agent);
    const running = await runIn(home, terminal, { wakes: true });
    await running.end();
    await look();
    const answer = await agent.asked();
    expect(answer.turn.history.map(getText)).toEqual([expect.stringContaining(running.id)]);
    await answer.say("Done.");
    answer.end();
    await look();
    expect(told).toEqual([]);
    expect(events[0]).toMatchObject({ type: "begun", session: running.opened.session.id });
  });

  it("gets the handle of the session when it has switched to another one", async () => {
    const agent = heldAgent();
    const { home, told, look, command, events } = await desk(agent);
    const running = await runIn(home, terminal, { wakes: true, mode: "error" });
    await command("/new");
    await running.end();
    await look();
    const { handle } = running.opened.session;
    expect(told).toEqual([expect.stringMatching(new RegExp(`ended with code 0.*/resume ${handle}$`, "s"))]);
    expect(events).toEqual([]);
  });

  it("wakes the agent after the answer in progress has ended", async () => {
    const agent = heldAgent();
    const { home, look, talk } = await desk(agent);
    const running = await runIn(home, terminal, { wakes: true });
    const said = await talk.submit("a story");
    const first = await agent.asked();
    await running.end();
    await look();
    await first.say("Once upon a time");
    expect(first.signal.aborted).toBe(false);
    first.end();
    await said.answer;
    const next = await agent.asked();
    expect(next.turn.history.map(getText)[2]).toContain(running.id);
    next.end();
  });
});
