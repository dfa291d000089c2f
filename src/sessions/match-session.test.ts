import { describe, expect, it } from "vitest";
import { openHome } from "../../test/support/test-home.ts";
import { OWNER } from "../core/owner.ts";
import { matchSession } from "./match-session.ts";

const me = { person: OWNER };

describe("the name of a session", () => {
  it("matches an id or handle first, then a title, then the start of an id", async () => {
    const { sessions, store } = await openHome();
    const one = await sessions.create(me, { id: "alpha_1" });
    const byId = await sessions.create(me, { title: "alpha_1" });
    const byHandle = await sessions.create(me, { title: one.handle });
    const byBeginning = await sessions.create(me, { title: "alpha" });
    const meant = async (text: string) => (await matchSession(store, me, text)).session?.id;
    expect(await meant("alpha_1")).toBe(one.id);
    expect(await meant(one.handle)).toBe(one.id);
    expect(await meant("alpha")).toBe(byBeginning.id);
    expect(await meant("alpha_")).toBe(one.id);
    for (const { id, handle } of [byId, byHandle, byBeginning]) {
      expect(await meant(id)).toBe(id);
      expect(await meant(handle)).toBe(id);
    }
  });

  it("matches the newest of a title's lineage, or exactly the given number", async () => {
    const { sessions, store } = await openHome();
    const [first, , third] = [
      await sessions.create(me, { title: "plan" }),
      await sessions.create(me, { title: "plan #2" }),
      await sessions.create(me, { title: "plan #3" }),
    ];
    await sessions.create(me, { title: "plan #438 fix auth" });
    const meant = async (text: string) => (await matchSession(store, me, text)).session?.id;
    expect(await meant("plan")).toBe(third.id);
    expect(await meant(" plan\n")).toBe(third.id);
    expect(await meant("plan #3")).toBe(third.id);
    expect(await meant("plan #1")).toBeUndefined();
    expect(await meant(first.id)).toBe(first.id);
  });

  it("gives several candidates if several ids start with it", async () => {
    const { sessions, store } = await openHome();
    for (const id of ["alpha_1", "alpha_2", "alphaX3"]) await sessions.create(me, { id });
    const { session, candidates } = await matchSession(store, me, "alpha_");
    expect(session).toBeUndefined();
    expect(candidates.map(({ id }) => id)).toEqual(["alpha_1", "alpha_2"]);
    expect((await matchSession(store, me, "alpha_1")).candidates).toEqual([]);
  });

  it("gives nothing for an unknown text", async () => {
    const { sessions, store } = await openHome();
    await sessions.create(me, { title: "plan" });
    for (const text of ["", "\u200b", "banana", "x".repeat(10_000), "%", "_", "\u0000"])
      expect(await matchSession(store, me, text), JSON.stringify(text.slice(0, 20))).toEqual({
        candidates: [],
      });
  });

  it("never matches another person's session", async () => {
    const { sessions, store } = await openHome();
    const theirs = await sessions.create({ person: "p_bob" }, { id: "beta_1", title: "plan" });
    const mine = await sessions.create(me, { id: "beta_2" });
    for (const text of ["beta_1", theirs.handle, "plan"])
      expect(await matchSession(store, me, text), text).toEqual({ candidates: [] });
    expect((await matchSession(store, me, "beta_")).session?.id).toBe(mine.id);
  });
});
