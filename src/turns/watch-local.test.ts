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

/** A terminal that gets the reports of its processes. */
async function openTerminal(agent: Agent = echo) {
  const home = await openHome();
  const talking = await talkIn(home, agent);
  const reports: string[] = [];
  const changes = listeners();
  const over = new AbortController();
  const options = {
    store: home.store,
    clock: home.clock,
    isMine: ({ target }: { readonly target: Source }) => target.platform === "local",
    show: (text: string) => {
      reports.push(text);
      changes.tell();
    },
    wake: talking.talk.wake,
    signal: over.signal,
  };
  return { home, ...talking, reports, changes, over, options, poll: () => pollLocalProcesses(options) };
}

describe("a terminal", () => {
  it("gets the reports of its own processes and of no others, each once, whichever process polls", async () => {
    const { home, reports, poll } = await openTerminal();
    const mine = await runIn(home, terminal, { everyMs: MINUTE });
    const theirs = await runIn(home, elsewhere, { everyMs: MINUTE });
    for (const one of [mine, theirs]) await one.print("hello\n");
    home.clock.pass(MINUTE);
    await Promise.all([poll(), poll()]);
    for (const one of [mine, theirs]) await one.end({ code: 1 });
    await Promise.all([poll(), poll()]);
    await poll();
    expect(reports.map((text) => text.split("\n")[0])).toEqual([
      `\`npm test\` (${mine.id}) runs for 1 min.`,
      `\`npm test\` (${mine.id}) ended with code 1 after 1 min.`,
    ]);
    expect((await theirs.now()).reported.end).toBe(false);
  });

  it("gets the reports of processes that ended while it was closed, and while it is open, until it closes", async () => {
    const { home, reports, changes, over, options } = await openTerminal();
    const before = await runIn(home, terminal, { mode: "result", command: "first" });
    await before.end();
    const watching = watchLocalProcesses(options);
    await changes.until(() => reports[0]);
    const after = await runIn(home, terminal, { mode: "result", command: "second" });
    await after.end();
    await changes.until(() => reports[1]);
    over.abort();
    await watching;
    const late = await runIn(home, terminal, { mode: "result" });
    await late.end();
    expect((await late.now()).reported.end).toBe(false);
    expect(reports.map((text) => text.slice(0, 8))).toEqual(["`first` ", "`second`"]);
  });

  it("has the agent answer to the end of a process that wakes it", async () => {
    const agent = heldAgent();
    const { home, reports, poll, events } = await openTerminal(agent);
    const running = await runIn(home, terminal, { wakes: true });
    await running.end();
    await poll();
    const answer = await agent.asked();
    expect(answer.turn.history.map(getText)).toEqual([expect.stringContaining(running.id)]);
    await answer.say("Done.");
    answer.end();
    await poll();
    expect(reports).toEqual([]);
    expect(events[0]).toMatchObject({ type: "started", session: running.opened.session.id });
  });

  it("gets the handle of the session when it has switched to another one", async () => {
    const agent = heldAgent();
    const { home, reports, poll, command, events } = await openTerminal(agent);
    const running = await runIn(home, terminal, { wakes: true, mode: "error" });
    await command("/new");
    await running.end();
    await poll();
    const { handle } = running.opened.session;
    expect(reports).toEqual([
      expect.stringMatching(new RegExp(`ended with code 0.*/resume ${handle}$`, "s")),
    ]);
    expect(events).toEqual([]);
  });

  it("wakes the agent after the answer in progress has ended", async () => {
    const agent = heldAgent();
    const { home, poll, talk } = await openTerminal(agent);
    const running = await runIn(home, terminal, { wakes: true });
    const said = await talk.submit("a story");
    const first = await agent.asked();
    await running.end();
    await poll();
    await first.say("Once upon a time");
    expect(first.signal.aborted).toBe(false);
    first.end();
    await said.answer;
    const next = await agent.asked();
    expect(next.turn.history.map(getText)[2]).toContain(running.id);
    next.end();
  });
});
