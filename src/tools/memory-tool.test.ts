import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { comeTo } from "../../test/support/places.ts";
import { openHome } from "../../test/support/test-home.ts";
import { buildToolContext, called } from "../../test/support/tool-context.ts";
import { getProfileMemoryOwner, MAX_MEMORY_CHARS } from "../core/memory.ts";
import { OWNER } from "../core/owner.ts";
import type { Source } from "../core/source.ts";
import { loadMemoryPrompt } from "./load-memory-prompt.ts";
import { memoryTool } from "./memory-tool.ts";
import type { ToolContext } from "./tool-context.ts";

async function openRoom(more: Partial<ToolContext> = {}) {
  const home = await openHome();
  const context = buildToolContext(home, more);
  return {
    home,
    context,
    change: (given: object) => called(memoryTool(context), given),
    entries: async (owner: string = context.owner) => (await home.store.memory.getMemory({ owner })).entries,
  };
}

const group = "chat:telegram:-5";

describe("memory", () => {
  it("adds, replaces and removes entries, and returns all entries and the used space", async () => {
    const { change, entries } = await openRoom();
    expect(await change({ action: "add", text: "Likes  tea,\nnot coffee" })).toEqual({
      text: "Remembered. The memory now contains (21 of 4000 characters):\n- Likes tea, not coffee",
      failed: false,
    });
    expect((await change({ action: "add", text: "Lives in Lübeck" })).text).toContain(
      "(36 of 4000 characters)",
    );
    expect((await change({ action: "replace", old: "tea", text: "Likes rooibos" })).text).toBe(
      "Replaced. The memory now contains (28 of 4000 characters):\n- Likes rooibos\n- Lives in Lübeck",
    );
    expect((await change({ action: "remove", old: "rooibos" })).text).toMatch(
      /^Removed\. .*\n- Lives in Lübeck$/,
    );
    expect((await change({ action: "remove", old: "Lübeck" })).text).toBe(
      "Removed. The memory is empty now.",
    );
    expect(await entries()).toEqual([]);
  });

  it("changes nothing when a call is repeated, as after a crash", async () => {
    const { change, home, context } = await openRoom();
    await change({ action: "add", text: "Has a dog" });
    expect(await change({ action: "add", text: "Has a dog" })).toEqual({
      text: "The entry exists already. The memory now contains (9 of 4000 characters):\n- Has a dog",
      failed: false,
    });
    expect((await home.store.memory.getMemory({ owner: context.owner })).version).toBe(1);
  });

  it.each([
    [/text to remember is empty/, { action: "add" }],
    [/text to remember is empty/, { action: "add", text: " \n" }],
    [/contains “zebra”/, { action: "replace", old: "zebra", text: "x" }],
    [/2 entries contain/, { action: "remove", old: "has" }],
    [/`old` is empty/, { action: "remove" }],
    [/must be add, replace or remove/, { action: "forget", old: "dog" }],
    [/must be add, replace or remove/, {}],
    [/it has 18 now, and the limit is 4000/, { action: "add", text: "x".repeat(MAX_MEMORY_CHARS) }],
  ])("refuses with an error text (%s), and changes nothing", async (sentence, given) => {
    const { change, entries } = await openRoom();
    await change({ action: "add", text: "has a dog" });
    await change({ action: "add", text: "has a cat" });
    const { text, failed } = await change(given);
    expect({ text: text.slice(0, 300), failed }).toEqual({
      text: expect.stringMatching(sentence),
      failed: true,
    });
    expect(await entries()).toEqual(["has a dog", "has a cat"]);
  });

  it("lets only the owner change the profile memory, and only in a direct chat", async () => {
    const given = { action: "add", target: "profile", text: "The office is closed on Fridays" };
    const owner = await openRoom();
    expect((await owner.change(given)).failed).toBe(false);
    expect(await owner.entries(getProfileMemoryOwner("main"))).toEqual(["The office is closed on Fridays"]);
    expect(await owner.entries()).toEqual([]);
    for (const [more, sentence] of [
      [{ role: "member", asker: { person: "p_1" }, owner: "p_1" }, "Only the owner of this home can change"],
      [{ asker: { person: OWNER, chat: group }, owner: group }, "cannot be changed in a group chat"],
    ] as const) {
      const { change, entries, context } = await openRoom(more);
      expect(await change(given)).toEqual({ text: expect.stringContaining(sentence), failed: true });
      expect(await entries(getProfileMemoryOwner("main"))).toEqual([]);
      expect(await entries()).toEqual([]);
      expect(JSON.stringify(memoryTool(context).input)).toContain("cannot be changed here");
    }
  });

  it("warns in a group that everyone can read the group's memory", async () => {
    const { context, change, entries } = await openRoom({
      asker: { person: "p_1", chat: group },
      owner: group,
    });
    expect(JSON.stringify(memoryTool(context).input)).toContain("the memory of this group chat");
    await change({ action: "add", text: "Ada plays the oboe" });
    expect(await entries(group)).toEqual(["Ada plays the oboe"]);
    expect(await entries("p_1")).toEqual([]);
    expect(memoryTool(context).effect).toBe("none");
  });
});

describe("the memory in the prompt", () => {
  it("is empty at first, then has the person's and the profile's entries", async () => {
    const { home, context, change } = await openRoom();
    const { store } = home;
    const loadPrompt = () => loadMemoryPrompt({ store, owner: context.owner, profile: "main" });
    expect(await loadPrompt()).toBeUndefined();
    await change({ action: "add", text: "Likes tea" });
    await change({ action: "add", target: "profile", text: "Closed on Fridays" });
    expect(await loadPrompt()).toMatch(
      /of the person you talk with:\*\*\n- Likes tea\n\n.*for everyone.*\n- Closed on Fridays/,
    );
    expect(await loadMemoryPrompt({ store, owner: "p_other", profile: "main" })).not.toContain("tea");
    expect(await loadMemoryPrompt({ store, owner: "p_other", profile: "work" })).toBeUndefined();
  });
});

describe("the memories of two people and their groups", () => {
  const person = (id: string) => ({ platform: "telegram", userId: id });
  const direct = (id: string): Source => ({ ...person(id), chatType: "dm", chatId: id });
  const inGroup = (id: string, chatId: string): Source => ({ ...person(id), chatType: "group", chatId });
  const places = [
    direct("1"),
    direct("2"),
    inGroup("1", "-5"),
    inGroup("2", "-5"),
    inGroup("1", "-6"),
    inGroup("2", "-6"),
  ];

  it.each([true, false])("never mix (each person has a separate session in a group: %s)", async (own) => {
    const step = fc.record({
      place: fc.nat(places.length - 1),
      act: fc.constantFrom("add", "add", "replace", "remove", "profile", "new"),
    });
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 5, maxLength: 40 }), async (steps) => {
        const home = await openHome({ scope: { groupsPerUser: own } });
        const model = new Map<string, string[]>();
        /** The owner of the memory of a chat: the person, or the readers of the group. */
        const nameOwner = ({ userId, chatType, chatId }: Source): string =>
          chatType === "dm" ? `person ${userId}` : own ? `${userId} in ${chatId}` : chatId;
        for (const [n, { place, act }] of steps.entries()) {
          const source = places[place];
          if (source === undefined) throw new Error("no such place");
          const { context, asker, conversation } = await comeTo(home, source);
          const mine = model.get(nameOwner(source)) ?? [];
          model.set(nameOwner(source), mine);
          const nonce = `nonce${n}q`;
          const [old = "nothing"] = mine;
          if (act === "new") await home.sessions.reset(asker, conversation);
          else if (act === "profile") {
            const { failed } = await called(memoryTool(context), {
              action: "add",
              target: "profile",
              text: nonce,
            });
            expect(failed).toBe(true);
          } else {
            const { failed } = await called(memoryTool(context), { action: act, old, text: nonce });
            if (failed) expect(mine).toEqual([]);
            else if (act === "add") mine.push(nonce);
            else if (act === "replace") mine[0] = nonce;
            else mine.shift();
          }
        }
        for (const source of places) {
          const { context } = await comeTo(home, source);
          const told =
            (await loadMemoryPrompt({ store: home.store, owner: context.owner, profile: "main" })) ?? "";
          expect(told.match(/nonce\d+q/g) ?? [], nameOwner(source)).toEqual(
            model.get(nameOwner(source)) ?? [],
          );
        }
      }),
      { numRuns: 8 },
    );
  });
});
