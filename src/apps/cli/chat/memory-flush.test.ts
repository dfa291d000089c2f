import { describe, expect, it, onTestFinished } from "vitest";
import { talkIn } from "../../../../test/support/talking.ts";
import { type Home, openHome } from "../../../../test/support/test-home.ts";
import { echo } from "../../../agents/echo.ts";
import type { ChatCommandContext } from "../../../commands/command.ts";
import { runChatCommand } from "../../../commands/table.ts";
import { OWNER } from "../../../core/owner.ts";
import type { Agent } from "../../../ports/agent.ts";
import { localRunner } from "../../../system/local-runner.ts";
import { memoryFlush } from "./memory-flush.ts";

/** Saves which session it was shown. */
const saving: Agent = {
  name: "saving",
  canTitle: true,
  async *run({ session, tools = [] }, signal) {
    for (const tool of tools) await tool.run({ action: "add", text: session }, { id: "1", signal });
    yield { type: "text", text: "Done." };
  },
};

async function terminal(more: { readonly stays?: boolean; readonly enabled?: boolean } = {}) {
  const home = await openHome();
  const { store, clock } = home;
  const talking = await talkIn(home, echo);
  const runner = localRunner();
  await store.runners.recordHeartbeat({ runner, now: clock.now() });
  const { enabled = true, stays = true } = more;
  const memory = memoryFlush({
    ...{ store, clock, runner: runner.id, agent: saving, isLongLived: stays },
    memory: () => ({ enabled, flush: true }),
  });
  onTestFinished(() => memory.close());
  const place: ChatCommandContext = {
    ...talking.place,
    sessions: memory.wrapSessions(home.sessions, talking.talk),
  };
  const here = async (): Promise<string> => (await talking.talk.findCurrent())?.session.id ?? "";
  return {
    home,
    memory,
    here,
    ask: talking.ask,
    command: (name: string, args = "") => runChatCommand(place, name, args),
  };
}

const remembered = async ({ store }: Home) => (await store.memory.getMemory({ owner: OWNER })).entries;
const waiting = ({ store, clock }: Home) => store.memory.claimFlush({ runner: "another", now: clock.now() });

describe("a session that a terminal leaves", () => {
  it("is flushed once after /new and after /resume", async () => {
    const { home, here, ask, command } = await terminal();
    for (const words of ["one", "two"]) await ask(words);
    const first = await here();
    await command("new");
    await expect.poll(() => remembered(home)).toEqual([first]);
    for (const words of ["three", "four"]) await ask(words);
    const second = await here();
    await command("resume", first);
    await expect.poll(() => remembered(home)).toEqual([first, second]);
    await command("new");
    expect(await waiting(home)).toBeUndefined();
    expect(await remembered(home)).toEqual([first, second]);
  });

  it("is flushed in the background when the reset policy starts another one", async () => {
    const { home, memory, here, ask, command } = await terminal();
    for (const words of ["one", "two"]) await ask(words);
    const first = await here();
    await command("title", "kept");
    const previous = { session: first, handle: "" };
    memory.startTurn({
      fresh: { reason: "idle", hadActivity: true, previous, noteDue: true, noticeDue: true },
    });
    await expect.poll(() => remembered(home)).toEqual([first]);
  });

  it("is flushed with the first message after an earlier terminal crashed", async () => {
    const { home, memory, here, ask } = await terminal();
    for (const words of ["one", "two"]) await ask(words);
    await home.store.memory.requestFlush({ session: await here(), now: home.clock.now() });
    memory.startTurn({});
    const first = await here();
    await expect.poll(() => remembered(home)).toEqual([first]);
  });

  it("is left to the next process after a single question", async () => {
    const { home, here, ask, command } = await terminal({ stays: false });
    for (const words of ["one", "two"]) await ask(words);
    const first = await here();
    await command("new");
    expect(await remembered(home)).toEqual([]);
    expect(await waiting(home)).toMatchObject({ session: first, owner: OWNER });
  });

  it("is not flushed when memory is disabled", async () => {
    const { home, memory, ask, command } = await terminal({ enabled: false });
    for (const words of ["one", "two"]) await ask(words);
    await command("new");
    await memory.close();
    expect(await remembered(home)).toEqual([]);
  });
});
