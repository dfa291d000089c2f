import { describe, expect, it } from "vitest";
import { indexed } from "../../test/support/database.ts";
import { messengerRoom, telegram } from "../../test/support/messenger-room.ts";
import { rowsIn } from "../../test/support/talking.ts";
import { openHome } from "../../test/support/test-home.ts";
import { echo } from "../agents/echo.ts";
import { getProfileMemoryOwner } from "../core/memory.ts";
import { OWNER } from "../core/owner.ts";
import type { Source } from "../core/source.ts";

const bob: Source = { platform: "telegram", chatType: "dm", chatId: "7", userId: "7", userName: "Bob" };
const group: Source = { ...telegram, chatType: "group", chatId: "-100", chatName: "Band" };
const bobInGroup: Source = { ...group, userId: "7", userName: "Bob" };

async function openRoom(scope = {}) {
  const home = await openHome({ scope });
  const at = await messengerRoom(home, echo, { settings: { scope } });
  const remember = (owner: string, text: string) => {
    home.clock.pass(1000);
    return home.store.memory.changeMemory({ owner, change: { action: "add", text }, now: home.clock.now() });
  };
  return { home, at, remember };
}

const failure = (code: string, message: RegExp) =>
  expect.objectContaining({ code, message: expect.stringMatching(message) });

describe("/memory", () => {
  it("reports an empty memory, also in a chat without messages, and changes no row", async () => {
    const { home, at } = await openRoom();
    const before = rowsIn(home.file);
    expect(await at.tell("/memory")).toMatch(/^Nothing is remembered here yet\./);
    expect(rowsIn(home.file)).toEqual(before);
  });

  it("shows the owner their own and the common entries, numbered, and how full the memory is", async () => {
    const { at, remember } = await openRoom();
    await at.ask("hello");
    await remember(OWNER, "Likes *tea*");
    await remember(OWNER, "Lives in Lübeck");
    await remember(getProfileMemoryOwner("main"), "Closed on Fridays");
    expect(await at.tell("/memory")).toBe(
      [
        "The agent remembers of you (26 of 4,000 characters):\n\n1. Likes \\*tea\\*\n2. Lives in Lübeck",
        "The agent remembers for everyone (17 of 4,000 characters):\n\n3. Closed on Fridays",
        "`/memory forget N` takes one out, and `/memory undo` takes the last change back.",
      ].join("\n\n"),
    );
  });

  it("adds an entry once, and removes one by its number", async () => {
    const { home, at, remember } = await openRoom();
    await at.ask("hello");
    expect(await at.tell("/memory add I like tea,\nnot coffee")).toBe(
      "Remembered of you: I like tea, not coffee",
    );
    expect(await at.tell("/memory add I like tea, not coffee")).toBe("That is remembered already.");
    await remember(getProfileMemoryOwner("main"), "Closed on Fridays");
    expect(await at.tell("/memory forget 2")).toMatch(
      /^Forgotten: Closed on Fridays\n\n`\/memory undo` brings it back/,
    );
    expect((await home.store.memory.getMemory({ owner: getProfileMemoryOwner("main") })).entries).toEqual([]);
    expect((await home.store.memory.getMemory({ owner: OWNER })).entries).toEqual(["I like tea, not coffee"]);
  });

  it("undoes the last change of any author, and redoes it", async () => {
    const { home, at, remember } = await openRoom();
    await at.ask("hello");
    const entries = async (owner = OWNER) => (await home.store.memory.getMemory({ owner })).entries;
    await remember(OWNER, "one");
    await remember(OWNER, "two");
    home.clock.pass(1000);
    await at.tell("/memory forget 1");
    expect(await at.tell("/memory undo")).toMatch(
      /remembered of you is as it was before the last change: 2 entries/,
    );
    expect(await entries()).toEqual(["one", "two"]);
    await at.tell("/memory undo");
    expect(await entries()).toEqual(["two"]);
    // The memory was empty before its first change.
    await remember(getProfileMemoryOwner("main"), "Closed on Fridays");
    expect(await at.tell("/memory undo")).toMatch(/remembered for everyone .*: nothing/);
    expect(await entries(getProfileMemoryOwner("main"))).toEqual([]);
    expect(await entries()).toEqual(["two"]);
  });

  it("refuses an unknown or invalid request, and changes nothing", async () => {
    const { home, at, remember } = await openRoom();
    await at.ask("hello");
    await expect(at.tell("/memory undo")).rejects.toThrow(failure("nothing_to_undo", /ever remembered/));
    await remember(OWNER, "one");
    await indexed(home.file);
    const before = rowsIn(home.file);
    for (const [line, code, sentence] of [
      ["/memory forget", "not_found", /Here is 1 entry; \/memory numbers them/],
      ["/memory forget 0", "not_found", /number of what to forget/],
      ["/memory forget 2", "not_found", /number of what to forget/],
      ["/memory forget all", "not_found", /number of what to forget/],
      ["/memory add", "invalid_input", /Write what to remember/],
      ["/memory clear", "invalid_input", /\/memory forget N/],
      ["/memory undo everything", "invalid_input", /\/memory undo/],
      [`/memory add ${"x".repeat(5000)}`, "too_large", /the limit is 4000/],
    ] as const)
      await expect(at.tell(line), line).rejects.toThrow(failure(code, sentence));
    expect(rowsIn(home.file)).toEqual(before);
  });

  it("shows a member neither the entries of others nor the common entries of the owner", async () => {
    const { at, remember } = await openRoom();
    await at.ask("hello");
    await remember(OWNER, "secret of the owner");
    await remember(getProfileMemoryOwner("main"), "Closed on Fridays");
    const other = await at.at(bob, "member");
    await other.ask("hello");
    expect(await other.tell("/memory")).toMatch(/^Nothing is remembered here yet/);
    expect(await other.tell("/memory add I am Bob")).toBe("Remembered of you: I am Bob");
    await other.tell("/memory undo");
    expect(await other.tell("/memory")).toMatch(/^Nothing is remembered here yet/);
    await expect(other.tell("/memory forget 1")).rejects.toThrow(
      failure("not_found", /Nothing is remembered here/),
    );
    expect(await at.tell("/memory")).toMatch(/secret of the owner[\s\S]*Closed on Fridays/);
  });

  it.each([
    ["all share a session", { groupsPerUser: false }],
    ["each has their own", {}],
  ])("shows only the entries of the group in a group in which %s", async (_, scope) => {
    const { at, remember } = await openRoom(scope);
    await at.ask("hello");
    await remember(OWNER, "private");
    await remember(getProfileMemoryOwner("main"), "Closed on Fridays");
    const inGroup = await at.at(group);
    const whose = "groupsPerUser" in scope ? "of this chat" : "of you in this chat";
    expect(await inGroup.tell("/memory add We rehearse on Mondays")).toBe(
      `Remembered ${whose}: We rehearse on Mondays`,
    );
    const shown = await inGroup.tell("/memory");
    expect(shown).toContain("1. We rehearse on Mondays");
    expect(shown).not.toMatch(/private|Fridays/);
    expect(await at.tell("/memory")).not.toContain("rehearse");
    const other = await at.at(bobInGroup, "member");
    await other.ask("hello");
    const seen = await other.tell("/memory");
    if ("groupsPerUser" in scope) expect(seen).toContain("rehearse");
    else expect(seen).not.toContain("rehearse");
  });
});
