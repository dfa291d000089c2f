import assert from "node:assert/strict";
import type { AskPairing } from "../core/access.ts";
import { OWNER } from "../core/owner.ts";
import { unrefused } from "../core/refusal.ts";
import {
  ANN,
  assertRefused,
  assertRejects,
  BOB,
  dm,
  HOUR,
  MINUTE,
  present,
  type Rule,
  type Scene,
  T0,
  type TestApi,
} from "./scene.ts";

const EVERY = 10 * MINUTE;

/** Who may speak: accounts, roles, codes and guesses. */
export function accessRules({ describe }: TestApi, rule: Rule): void {
  describe("an account", () => {
    rule("is known after its first accepted message, without a role", async ({ take, store }) => {
      assert.equal(await store.account({ platform: "telegram", userId: "ann" }), undefined);
      const { conversation } = await take(ANN, "hello");
      assert.deepEqual(await store.account({ platform: "telegram", userId: "ann" }), {
        person: conversation.person,
        name: "ann",
      });
      assert.equal(await store.account({ platform: "signal", userId: "ann" }), undefined);
      assert.equal(await store.account({ platform: "telegram" }), undefined);
    });

    rule("is known by either of its ids, and not by a number that has passed on", async ({ take, store }) => {
      const source = { ...dm("+49"), platform: "signal", userId: "+49", userIdAlt: "uuid-1" };
      const { person } = (await take(source, "hello")).conversation;
      const signal = { platform: "signal" };
      for (const ids of [{ userId: "+49" }, { altId: "uuid-1" }, { userId: "+50", altId: "uuid-1" }])
        assert.equal((await store.account({ ...signal, ...ids }))?.person, person);
      assert.equal(await store.account({ ...signal, userId: "+49", altId: "uuid-2" }), undefined);
    });

    rule("of the terminal is the owner's, whoever has spoken there", async ({ store }) => {
      assert.deepEqual(await store.account({ platform: "local", userId: "me" }), {
        person: OWNER,
        role: "owner",
      });
    });
  });

  describe("a role", () => {
    rule("is given and taken, and listed with its accounts", async ({ take, store }) => {
      const person = present((await take(ANN, "hello")).conversation.person);
      assert.deepEqual(await store.grants(), []);
      assert.equal(await store.grant({ person, role: "member", now: T0 + 1 }), true);
      assert.equal(await store.grant({ person, role: "member", now: T0 + 2 }), true);
      assert.equal((await store.account({ platform: "telegram", userId: "ann" }))?.role, "member");
      assert.deepEqual(await store.grants(), [
        {
          person,
          role: "member",
          since: T0 + 1,
          accounts: [{ platform: "telegram", userId: "ann", name: "ann" }],
        },
      ]);
      assert.equal(await store.grant({ person, role: undefined, now: T0 + 3 }), true);
      assert.equal((await store.account({ platform: "telegram", userId: "ann" }))?.role, undefined);
      assert.deepEqual(await store.grants(), []);
      assert.equal(await store.grant({ person: "p_nobody", role: "member", now: T0 }), false);
    });

    rule("of the owner cannot be taken", async ({ create, store }) => {
      assert.equal(await store.grant({ person: OWNER, role: undefined, now: T0 }), false);
      await create(OWNER);
      assert.equal(await store.grant({ person: OWNER, role: "member", now: T0 }), false);
      const [{ person, role } = {}] = await store.grants();
      assert.deepEqual([person, role], [OWNER, "owner"]);
    });
  });

  describe("a code", () => {
    rule("is given once in a while to each account, and the newest counts", async (scene) => {
      const { store } = scene;
      const first = await ask(scene, "ann");
      assert.equal(first.state, "asked");
      assert.deepEqual(await ask(scene, "ann", { now: T0 + EVERY - 1 }), {
        state: "too_soon",
        until: T0 + EVERY,
      });
      assert.equal((await ask(scene, "bob", { now: T0 + 1 })).state, "asked");
      const again = await ask(scene, "ann", { now: T0 + EVERY });
      assert.equal(again.state, "asked");
      const codes = await store.pairings({ now: T0 + EVERY });
      assert.deepEqual(
        codes.map(({ asker }) => asker?.userId),
        ["bob", "ann"],
      );
      assert.equal(codes[1]?.hash, "hash-ann");
    });

    rule("is known by either id of whoever asks", async (scene) => {
      await ask(scene, "ann", { asker: { ...ANN, userId: "1", userIdAlt: "2" } });
      const both = await ask(scene, "ann", { asker: { ...ANN, userId: "1" } });
      assert.equal(both.state, "too_soon");
    });

    rule(
      "is refused to nobody because of others: beyond some, the oldest request is dropped",
      async (scene) => {
        const { store } = scene;
        await store.create({
          session: { id: "s", kind: "chat", owner: "p_ann" },
          profile: "main",
          now: T0,
        });
        const askers = async (now: number) =>
          (await store.pairings({ platform: "telegram", now })).map(({ asker }) => asker?.userId ?? "a link");
        for (let n = 0; n < 5; n += 1) assert.equal((await linkCode(scene, "p_ann")).state, "asked");
        for (const name of ["a", "b", "c", "d"]) assert.equal((await ask(scene, name)).state, "asked");
        assert.equal((await ask(scene, "e", { platform: "signal" })).state, "asked");
        // Codes that link are the person's own: they neither count nor make room.
        const links = Array.from({ length: 5 }, () => "a link");
        assert.deepEqual(await askers(T0), [...links, "b", "c", "d"]);
        // Whoever asks again replaces their own request.
        assert.equal((await ask(scene, "b", { now: T0 + EVERY })).state, "asked");
        assert.deepEqual(await askers(T0 + EVERY), [...links, "c", "d", "b"]);
      },
    );

    rule("lets whoever asked in, once", async (scene) => {
      const { store } = scene;
      const number = await asked(scene, "ann");
      const used = unrefused(await store.usePairing({ pairing: number, now: T0 + 1 }));
      assert.deepEqual(used.account, { platform: "telegram", userId: "ann", name: "ann" });
      assert.deepEqual(await store.account({ platform: "telegram", userId: "ann" }), {
        person: used.person,
        role: "member",
        name: "ann",
      });
      assertRefused(await store.usePairing({ pairing: number, now: T0 + 1 }), "not_found");
      assert.deepEqual(await store.pairings({ now: T0 + 1 }), []);
      await scene.reopen();
      assert.equal((await scene.take(ANN, "hello")).conversation.person, used.person);
    });

    rule("that has expired lets nobody in", async (scene) => {
      const { store } = scene;
      const number = await asked(scene, "ann");
      assert.deepEqual(await store.pairings({ now: T0 + HOUR }), []);
      assertRefused(await store.usePairing({ pairing: number, now: T0 + HOUR }), "expired");
      assert.equal(await store.account({ platform: "telegram", userId: "ann" }), undefined);
    });

    rule("that links gives the account to its person, once", async (scene) => {
      const { store, take } = scene;
      const ann = present((await take(ANN, "hello")).conversation.person);
      const code = await linkCode(scene, ann);
      assert.ok(code.state === "asked");
      const account = { platform: "signal", userId: "+49", name: "Ann" };
      assertRefused(await store.usePairing({ pairing: code.number, now: T0 }), "invalid_input");
      assert.deepEqual(await store.usePairing({ pairing: code.number, account, now: T0 }), {
        person: ann,
        account,
      });
      assert.deepEqual(await store.account(account), { person: ann, name: "Ann" });
      assertRefused(await store.usePairing({ pairing: code.number, account, now: T0 }), "not_found");
    });

    rule("is listed by platform", async (scene) => {
      await ask(scene, "ann");
      await ask(scene, "bob", { platform: "signal", asker: { ...BOB, platform: "signal" } });
      const codes = await scene.store.pairings({ platform: "signal", now: T0 });
      assert.deepEqual(
        codes.map(({ platform, asker }) => [platform, asker?.userId]),
        [["signal", "bob"]],
      );
    });

    rule("needs someone to be for", async (scene) => {
      const { asker: _, ...nobody } = request("ann");
      await assertRejects(scene.store.askPairing(nobody), "invalid_input");
    });
  });

  describe("a code that was asked for under a clock that was ahead", () => {
    rule("counts no longer, and keeps nobody from asking for another", async ({ store }) => {
      await store.askPairing(request("ann", { now: T0 + 48 * HOUR }));
      assert.deepEqual(await store.pairings({ now: T0 }), []);
      assert.equal((await store.askPairing(request("ann"))).state, "asked");
      assert.equal((await store.pairings({ now: T0 })).length, 1);
    });
  });

  describe("guesses", () => {
    rule("are counted, and too many lock out for a while", async ({ store }) => {
      const guess = (now: number, name = "telegram:ann") =>
        store.countGuess({ name, most: 3, lockMs: HOUR, now });
      for (const at of [0, 1, 2]) assert.deepEqual(await guess(T0 + at), { allowed: true });
      const until = T0 + 2 + HOUR;
      assert.deepEqual(await guess(T0 + 3), { allowed: false, until });
      assert.deepEqual(await guess(T0 + 3, "telegram:bob"), { allowed: true });
      assert.deepEqual(await guess(until - 1), { allowed: false, until });
      // Then they begin anew.
      for (const at of [0, 1, 2]) assert.deepEqual(await guess(until + at), { allowed: true });
      assert.deepEqual(await guess(until + 3), { allowed: false, until: until + 2 + HOUR });
    });

    rule("lock nobody out for longer than that, whatever the clock said when it began", async ({ store }) => {
      const guess = (now: number) => store.countGuess({ name: "x", most: 2, lockMs: HOUR, now });
      for (const at of [0, 1]) await guess(T0 + 48 * HOUR + at);
      assert.deepEqual(await guess(T0), { allowed: true });
      assert.deepEqual(await guess(T0), { allowed: true });
      assert.deepEqual(await guess(T0), { allowed: false, until: T0 + HOUR });
    });

    rule("are forgiven to whoever guessed right", async ({ store }) => {
      const guess = () => store.countGuess({ name: "x", most: 2, lockMs: HOUR, now: T0 });
      await guess();
      await guess();
      await store.clearGuesses({ name: "x" });
      assert.deepEqual(await guess(), { allowed: true });
      assert.deepEqual(await guess(), { allowed: true });
      assert.deepEqual(await guess(), { allowed: false, until: T0 + HOUR });
    });
  });
}

function request(name: string, more: Partial<AskPairing> = {}): AskPairing {
  const now = more.now ?? T0;
  return {
    platform: "telegram",
    asker: dm(name),
    salt: "salt",
    hash: `hash-${name}`,
    expiresAt: now + HOUR,
    everyMs: EVERY,
    mostPending: 3,
    now,
    ...more,
  };
}

function ask({ store }: Scene, name: string, more: Partial<AskPairing> = {}) {
  return store.askPairing(request(name, more));
}

async function asked(scene: Scene, name: string): Promise<number> {
  const answer = await ask(scene, name);
  assert.ok(answer.state === "asked");
  return answer.number;
}

function linkCode({ store }: Scene, person: string) {
  const { asker: _, ...rest } = request("link");
  return store.askPairing({ ...rest, person });
}
