import { describe, expect, it } from "vitest";
import { messengerRoom, telegram } from "../../test/support/messenger-room.ts";
import { type Running, type RunOptions, runIn } from "../../test/support/running.ts";
import { type Home, MINUTE, openHome } from "../../test/support/test-home.ts";
import { echo } from "../agents/echo.ts";
import type { Source } from "../core/source.ts";
import type { Processes } from "../processes/processes.ts";
import type { ChatCommandContext, CommandReply } from "./command.ts";
import { getChatCommand, runChatCommand } from "./table.ts";

const bob: Source = { platform: "telegram", chatType: "dm", chatId: "7", userId: "7", userName: "Bob" };
const group: Source = { ...telegram, chatType: "group", chatId: "-100" };

/** A direct chat of the owner, with one message. */
async function openRoom() {
  const home = await openHome();
  const at = await messengerRoom(home, echo);
  await at.ask("hello");
  return { home, ...at, run: (options?: RunOptions) => runIn(home, telegram, options) };
}

/** Processes that exist only as rows, and that `kill` ends. */
function endableProcesses(home: Home, ...running: readonly Running[]): Processes {
  const never = (): never => {
    throw new Error("no test calls this");
  };
  return {
    async kill(id) {
      const one = running.find((each) => each.id === id);
      await one?.end({ signal: "SIGTERM" });
      const process = await home.store.processes.getProcess({ asker: { everyone: true }, id });
      if (process === undefined) throw new Error("there is no such process");
      return process;
    },
    start: never,
    write: never,
    endInput: never,
    resize: never,
    waitForEnd: async () => {},
    close: async () => {},
  };
}

const failure = (code: string, message: RegExp) =>
  expect.objectContaining({ code, message: expect.stringMatching(message) });

describe("/processes", () => {
  it("reports when there are none", async () => {
    const { tell } = await openRoom();
    expect(await tell("/processes")).toBe("Nothing runs in the background here.");
  });

  it("lists running processes with their last line, and those that ended within half an hour, but none that a tool waits for", async () => {
    const { home, tell, run } = await openRoom();
    const old = await run({ command: "old" });
    await old.end();
    home.clock.pass(20 * MINUTE);
    const failed = await run({ command: "make all" });
    await failed.end({ code: 2 });
    home.clock.pass(11 * MINUTE);
    const server = await run({ command: "npm\nrun dev" });
    await server.print("\u001b[32mready\u001b[0m on *:80*\n\n");
    await run({ command: "waited for", background: false });
    home.clock.pass(3 * MINUTE);
    expect((await tell("/ps")).split("\n").slice(0, -2)).toEqual([
      `- \`${server.id}\` \`npm run dev\`: running for 3 min, last: ready on \\*:80\\*`,
      `- \`${failed.id}\` \`make all\`: ended with code 2 14m ago`,
    ]);
  });

  it("shows the output of one, by its id or the start of the id, in a code block", async () => {
    const { tell, run } = await openRoom();
    const one = await run();
    await one.print(`${"x".repeat(20_000)}\n\`\`\`\nlast\n`);
    for (const name of [one.id, one.id.slice(5), one.id.slice(0, 8)]) {
      const log = await tell(`/processes log ${name}`);
      expect(log.split("\n")[0]).toBe(
        `\`npm test\` (${one.id}): running for 0 s, the last of what it printed`,
      );
      expect(log).toMatch(/x\n```\nlast\n````$/);
      expect(log.length).toBeLessThan(3200);
    }
    const silent = await run();
    expect(await tell(`/ps log ${silent.id}`)).toMatch(/It has printed nothing\.$/);
    await expect(tell("/ps log proc_00")).rejects.toThrow(failure("ambiguous", /^That could be 2 processes/));
  });

  it("ends one, offers a button for that, and reports when it has ended already", async () => {
    const { home, place, run } = await openRoom();
    const one = await run({ command: "npm run dev" });
    const at: ChatCommandContext = { ...(await place()), processes: endableProcesses(home, one) };
    const listed: CommandReply = await runChatCommand(at, "processes", "");
    expect(listed.choices).toMatchObject([{ line: `/processes kill ${one.id}`, label: "End npm run dev" }]);
    const kill = () => runChatCommand(at, "processes", `kill ${one.id}`);
    expect((await kill()).text).toBe(`Ended \`npm run dev\` (${one.id}): it was ended by SIGTERM.`);
    expect((await kill()).text).toContain("has ended already: it was ended by SIGTERM just now.");
    expect(await runChatCommand(at, "processes", "")).not.toHaveProperty("choices");
  });

  it("refuses to end one in a chat that cannot end processes", async () => {
    const { home, place, run } = await openRoom();
    const one = await run();
    const { processes: _, ...at } = await place();
    await expect(runChatCommand(at, "processes", `kill ${one.id}`)).rejects.toThrow(
      failure("not_allowed", /postrider processes kill/),
    );
    expect((await home.store.processes.getProcess({ asker: at.who, id: one.id }))?.status.state).toBe(
      "running",
    );
  });

  it("cannot list, show or end the processes of others, and in a group covers only that chat", async () => {
    const { home, at, run } = await openRoom();
    const mine = await run({ command: "mine" });
    const theirs = await runIn(home, bob, { command: "theirs" });
    const inGroup = await runIn(home, group, { command: "ours" });
    const his = await at(bob, "member");
    await his.ask("hi");
    const together = await at(group);
    expect(await his.tell("/processes")).toMatch(/theirs/);
    expect(await his.tell("/processes")).not.toMatch(/mine|ours/);
    expect(await together.tell("/processes")).toMatch(/ours/);
    expect(await together.tell("/processes")).not.toMatch(/mine|theirs/);
    const place: ChatCommandContext = {
      ...(await his.place()),
      processes: endableProcesses(home, mine, theirs, inGroup),
    };
    for (const id of [mine.id, inGroup.id]) {
      for (const verb of ["log", "kill"])
        await expect(runChatCommand(place, "processes", `${verb} ${id}`)).rejects.toThrow(
          failure("not_found", /^There is no process/),
        );
    }
    expect((await mine.now()).status.state).toBe("running");
  });

  it("refuses unknown subcommands and ids", async () => {
    const { tell } = await openRoom();
    await expect(tell("/processes stop all")).rejects.toThrow(failure("invalid_input", /kill ID/));
    await expect(tell("/processes log")).rejects.toThrow(failure("invalid_input", /Say which/));
    await expect(tell("/processes log ../../etc")).rejects.toThrow(failure("not_found", /no process/));
  });

  it("completes with the ids of processes", async () => {
    const { place, run } = await openRoom();
    const one = await run();
    const lines = await getChatCommand("processes").complete?.(await place(), "kill");
    expect(lines?.map(({ line }) => line)).toEqual([`/processes kill ${one.id}`]);
  });
});

describe("other commands", () => {
  it("count the running processes, and /stop does not end them", async () => {
    const { home, tell, run } = await openRoom();
    expect(await tell("/status")).not.toContain("background process");
    const one = await run();
    expect(await tell("/status")).toContain("- 1 background process runs here; /processes lists what runs");
    await run();
    await runIn(home, bob);
    expect(await tell("/status")).toContain("- 2 background processes run here");
    expect(await tell("/stop")).toBe(
      "Nothing is being answered. 2 background processes run on; /processes lists them.",
    );
    await one.end();
    expect(await tell("/stop all")).toBe(
      "Nothing is being answered, and nothing waits. 1 background process runs on; /processes lists it.",
    );
  });
});
