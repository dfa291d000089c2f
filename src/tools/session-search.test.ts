import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { comeTo } from "../../test/support/places.ts";
import { DAY, MINUTE, openHome, START } from "../../test/support/test-home.ts";
import { buildToolContext, called } from "../../test/support/tool-context.ts";
import { OWNER } from "../core/owner.ts";
import type { Source } from "../core/source.ts";
import { sessionSearchTool } from "./session-search.ts";
import type { ToolContext } from "./tool-context.ts";

const me = { person: OWNER };

interface Found {
  readonly success: boolean;
  readonly mode: string;
  readonly count: number;
  readonly sessions_searched: number;
  readonly note?: string;
  readonly results: readonly Readonly<Record<string, string | number | null>>[];
}

async function runSearch(context: ToolContext, given: object): Promise<Found> {
  const { text, failed } = await called(sessionSearchTool(context), given);
  expect(failed).toBe(false);
  return JSON.parse(text) as Found;
}

async function openRoom(more: Partial<ToolContext> = {}) {
  const home = await openHome();
  const { sessions, clock } = home;
  const context = buildToolContext(home, more);
  return {
    home,
    context,
    search: (given: object, session = "none") => runSearch({ ...context, session }, given),
    /** Creates a session with these messages, alternately of the person and the agent. */
    async createTalk(...lines: readonly string[]) {
      clock.pass(MINUTE);
      const session = await sessions.create(me);
      for (const [at, text] of lines.entries()) {
        clock.pass(1000);
        await sessions.append(me, session.id, { role: at % 2 === 0 ? "user" : "assistant", text });
      }
      return session;
    },
  };
}

describe("session_search with a query", () => {
  it("returns the messages around each hit, with place and time", async () => {
    const { home, createTalk, search } = await openRoom();
    const trip = await createTalk("Wohin?", "Nach Lübeck.", "And by which train?", "The one at nine.");
    await home.sessions.title(me, trip.id, "Trip");
    await createTalk("Something else entirely");
    expect(await search({ query: "lubeck" })).toEqual({
      success: true,
      mode: "search",
      query: "lubeck",
      count: 1,
      sessions_searched: 1,
      results: [
        {
          session_id: trip.id,
          handle: trip.handle,
          title: "Trip",
          source: null,
          when: new Date(START + MINUTE + 2000).toISOString(),
          excerpts:
            "[USER]: Wohin?\n[ASSISTANT]: Nach Lübeck.\n[USER]: And by which train?\n[ASSISTANT]: The one at nine.",
        },
      ],
    });
  });

  it("shortens long outputs and messages, names the called tools, and respects the maximum length", async () => {
    const { home, createTalk, search } = await openRoom();
    const { id } = await createTalk("begin");
    const output = `${"A".repeat(250)}${"x".repeat(5000)}${"Z".repeat(250)}`;
    await home.sessions.append(me, id, [
      {
        role: "assistant",
        text: "I look.",
        toolCalls: [
          { id: "1", name: "terminal", arguments: {} },
          { id: "2", name: "read_file", arguments: {} },
        ],
      },
      { role: "tool", text: output, toolCallId: "1", toolName: "terminal" },
      { role: "assistant", text: `${"before ".repeat(2000)} the pelican ${"after ".repeat(2000)}` },
      ...Array.from({ length: 40 }, () => ({
        role: "user" as const,
        text: `pelican ${"more ".repeat(400)}`,
      })),
    ]);
    const { results } = await search({ query: "pelican" });
    const excerpts = String(results[0]?.excerpts);
    expect(excerpts.length).toBeLessThanOrEqual(6100);
    const { results: one } = await search({ query: "pelican", role_filter: "assistant" });
    const lines = String(one[0]?.excerpts);
    expect(lines).toContain("[ASSISTANT]: I look. [called: terminal, read_file]");
    expect(lines).toContain(`[TOOL:terminal]: ${"A".repeat(250)}\n[...]\n${"Z".repeat(250)}\n`);
    expect(lines).toMatch(/before {2}the >>>pelican<<< after/);
    expect(lines.length).toBeLessThanOrEqual(6100);
  });

  it("counts a session and its forks as one, and omits the current session and its relatives", async () => {
    const { home, createTalk, search } = await openRoom();
    const first = await createTalk("the heron flies");
    const fork = await home.sessions.fork(me, first.id);
    const grandchild = await home.sessions.fork(me, fork.id);
    for (const { id } of [fork, grandchild])
      await home.sessions.append(me, id, { role: "user", text: "heron again" });
    const other = await createTalk("a heron stands");
    const found = async (current?: string) =>
      (await search({ query: "heron", limit: 5 }, current)).results.map(({ session_id }) => session_id);
    expect(await found()).toHaveLength(2);
    for (const { id } of [first, fork, grandchild]) expect(await found(id)).toEqual([other.id]);
    expect(await found(other.id)).toHaveLength(1);
    // The forks keep the messages of their removed origin, and are still related.
    await home.sessions.remove(me, first.id);
    expect(await found(grandchild.id)).toEqual([other.id]);
    const { results } = await search({ query: "flies" }, other.id);
    expect(results).toMatchObject([{ excerpts: expect.stringMatching(/^\[USER\]: the heron flies/) }]);
  });

  it("ends when imported sessions name each other as their origin", async () => {
    const there = await openRoom();
    const pair = [await there.createTalk("the ibis"), await there.createTalk("the ibis")];
    const { home, createTalk, search } = await openRoom();
    for (const [at, { id }] of pair.entries()) {
      const exported = await there.home.sessions.export(me, id);
      const session = { ...exported?.session, parent_session_id: pair[1 - at]?.id };
      await home.sessions.import({ ...exported, session });
    }
    const other = await createTalk("an ibis");
    const found = async (current?: string) =>
      (await search({ query: "ibis" }, current)).results.map(({ session_id }) => session_id);
    expect(await found()).toContain(other.id);
    expect(await found(pair[0]?.id)).toContain(other.id);
    expect((await search({}, pair[0]?.id)).results).toMatchObject([{ session_id: other.id }]);
  });

  it("finds other sessions after many hits in the current one", async () => {
    const { home, createTalk, search } = await openRoom();
    const old = await createTalk("the one cormorant");
    const { id } = await createTalk("cormorant");
    await home.sessions.append(
      me,
      id,
      Array.from({ length: 120 }, () => ({ role: "user" as const, text: "cormorant cormorant" })),
    );
    expect((await search({ query: "cormorant" }, id)).results).toMatchObject([{ session_id: old.id }]);
  });

  it("shows no undone messages", async () => {
    const { home, createTalk, search } = await openRoom();
    const { id } = await createTalk("keep the osprey", "yes", "the embarrassing osprey", "oh");
    await home.sessions.undo(me, id);
    const { results } = await search({ query: "osprey" });
    expect(results).toMatchObject([{ excerpts: "[USER]: keep the osprey\n[ASSISTANT]: yes" }]);
  });

  it("accepts any limit and clamps it, and ignores unknown roles", async () => {
    const { createTalk, search } = await openRoom();
    for (let n = 0; n < 8; n += 1) await createTalk(`gull ${n}`, `a gull, you say`);
    for (const [limit, count] of [
      [undefined, 3],
      [2, 2],
      ["4", 4],
      ["99", 5],
      [99, 5],
      [0, 1],
      [-3, 1],
      ["many", 3],
      [null, 3],
      [2.9, 2],
    ] as const)
      expect((await search({ query: "gull", limit })).count, String(limit)).toBe(count);
    expect((await search({ query: "gull" })).sessions_searched).toBe(8);
    for (const [role_filter, count] of [
      [" User , assistant", 3],
      ["assistant", 3],
      ["nobody", 3],
      ["", 3],
      ["tool", 0],
    ] as const)
      expect((await search({ query: "gull", role_filter })).count, role_filter).toBe(count);
    expect((await search({ query: "say", role_filter: "user" })).count).toBe(0);
    expect((await search({ query: "gull", role_filter: "tool" })).note).toMatch(/not tool results/);
  });

  it("never fails, for any arguments", async () => {
    const { search } = await openRoom();
    for (const query of [
      "C++",
      '"unterminated',
      "(problem",
      "***",
      "OR",
      "-x",
      "\0",
      "😀",
      "a".repeat(10_000),
    ])
      expect(await search({ query })).toMatchObject({ success: true, count: 0 });
    expect(await search({ query: 7, limit: {}, role_filter: [] })).toMatchObject({
      success: true,
      mode: "recent",
    });
  });

  it("shows no secret", async () => {
    const { createTalk, search } = await openRoom({ secrets: ["sk-very-secret-123456"] });
    await createTalk("the key of the puffin is sk-very-secret-123456");
    expect(JSON.stringify([await search({ query: "puffin" }), await search({})])).not.toContain("sk-very");
  });
});

describe("session_search without a query", () => {
  it("lists the newest sessions except the current one and its forks, with platform and first words", async () => {
    const { home, createTalk, search } = await openRoom();
    const old = await createTalk("the first words", "an answer");
    await home.sessions.title(me, old.id, "Beginnings");
    await home.sessions.create(me);
    const current = await createTalk("here");
    const fork = await home.sessions.fork(me, current.id);
    await home.sessions.append(me, fork.id, { role: "user", text: "in the copy" });
    expect(await search({ query: "  " }, current.id)).toEqual({
      success: true,
      mode: "recent",
      count: 1,
      sessions_searched: 1,
      results: [
        {
          session_id: old.id,
          handle: old.handle,
          title: "Beginnings",
          source: null,
          started_at: new Date(START + MINUTE).toISOString(),
          last_active: new Date(START + MINUTE + 2000).toISOString(),
          message_count: 2,
          preview: "the first words",
        },
      ],
    });
    expect((await search({}, old.id)).results.map(({ session_id }) => session_id)).toEqual([
      fork.id,
      current.id,
    ]);
  });

  it("names the platform, and finds older sessions behind many ignored ones", async () => {
    const { home, search } = await openRoom();
    const telegram: Source = { platform: "telegram", chatType: "dm", chatId: "7", userId: "7" };
    const at = await comeTo(home, telegram);
    await at.say("from the train");
    home.clock.pass(DAY);
    const mine = { ...at.context, session: "none" };
    for (let n = 0; n < 60; n += 1) await home.sessions.create({ person: at.context.owner });
    expect((await runSearch(mine, { limit: 1 })).results).toMatchObject([
      { source: "telegram", preview: "from the train" },
    ]);
    expect(await search({})).toMatchObject({ count: 0, results: [] });
  });
});

describe("two people and their groups", () => {
  const person = (id: string) => ({ platform: "telegram", userId: id, userName: `user ${id}` });
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

  it.each([true, false])(
    "never find each other's messages, nor a group those of a direct chat (each person has a separate session: %s)",
    async (own) => {
      const step = fc.record({
        place: fc.nat(places.length - 1),
        act: fc.constantFrom("say", "say", "say", "new", "fork"),
      });
      await fc.assert(
        fc.asyncProperty(fc.array(step, { minLength: 5, maxLength: 25 }), async (steps) => {
          const home = await openHome({ scope: { groupsPerUser: own } });
          const here = await Promise.all(places.map((source) => comeTo(home, source)));
          const said: { readonly nonce: string; readonly place: number }[] = [];
          for (const [n, { place, act }] of steps.entries()) {
            const at = here[place];
            const source = places[place];
            if (at === undefined || source === undefined) throw new Error("no such place");
            if (act === "say") {
              const nonce = `nonce${n}q`;
              said.push({ nonce, place });
              await (await comeTo(home, source)).say(`the word is ${nonce}`);
            } else if (act === "new") await home.sessions.reset(at.asker, at.conversation);
            else await home.sessions.fork(at.asker, (await comeTo(home, source)).session);
          }
          for (const [asking, { context }] of here.entries()) {
            const all = JSON.stringify(await runSearch({ ...context, session: "none" }, { limit: 5 }));
            for (const { nonce, place } of said) {
              const found = await runSearch({ ...context, session: "none" }, { query: nonce });
              expect(found.count > 0, `${nonce} of ${place} for ${asking}`).toBe(canFind(asking, place, own));
              if (!canFind(asking, place, own)) expect(all).not.toContain(nonce);
            }
          }
        }),
        { numRuns: 8 },
      );
    },
  );

  /** Whether a person in one chat may find the messages of another. */
  function canFind(asking: number, place: number, own: boolean): boolean {
    const [one, other] = [places[asking], places[place]];
    const isSamePerson = one?.userId === other?.userId;
    if (one?.chatType === "group") return one.chatId === other?.chatId && (isSamePerson || !own);
    // The messages of a shared group belong to the group.
    return isSamePerson && (other?.chatType === "dm" || own);
  }
});
