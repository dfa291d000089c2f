import assert from "node:assert/strict";
import type { PairingRequest } from "../core/access.ts";
import { OWNER } from "../core/owner.ts";
import { throwIfRefused } from "../core/refusal.ts";
import {
  ANN,
  assertRefused,
  assertRejects,
  BOB,
  dm,
  HOUR,
  MINUTE,
  requireValue,
  type Scene,
  type StoreRule,
  T0,
  type TestApi,
} from "./scene.ts";

const PAIRING_INTERVAL_MS = 10 * MINUTE;

/** Access: accounts, roles, codes and guesses. */
export function defineAccessRules({ describe }: TestApi, rule: StoreRule): void {
  describe("an account", () => {
    rule("is known after its first accepted message, without a role", async ({ take, store }) => {
      assert.equal(await store.access.getAccount({ platform: "telegram", userId: "ann" }), undefined);
      const { conversation } = await take(ANN, "hello");
      assert.deepEqual(await store.access.getAccount({ platform: "telegram", userId: "ann" }), {
        person: conversation.person,
        name: "ann",
      });
      assert.equal(await store.access.getAccount({ platform: "signal", userId: "ann" }), undefined);
      assert.equal(await store.access.getAccount({ platform: "telegram" }), undefined);
    });

    rule(
      "is found by either of its ids, and not by a number that now belongs to another account",
      async ({ take, store }) => {
        const source = { ...dm("+49"), platform: "signal", userId: "+49", userIdAlt: "uuid-1" };
        const { person } = (await take(source, "hello")).conversation;
        const signal = { platform: "signal" };
        for (const ids of [{ userId: "+49" }, { altId: "uuid-1" }, { userId: "+50", altId: "uuid-1" }])
          assert.equal((await store.access.getAccount({ ...signal, ...ids }))?.person, person);
        assert.equal(await store.access.getAccount({ ...signal, userId: "+49", altId: "uuid-2" }), undefined);
      },
    );

    rule("of the terminal always belongs to the owner", async ({ store }) => {
      assert.deepEqual(await store.access.getAccount({ platform: "local", userId: "me" }), {
        person: OWNER,
        role: "owner",
      });
    });
  });

  describe("a role", () => {
    rule("can be granted and revoked, and is listed with its accounts", async ({ take, store }) => {
      const person = requireValue((await take(ANN, "hello")).conversation.person);
      assert.deepEqual(await store.access.listGrants(), []);
      assert.equal(await store.access.setRole({ person, role: "member", now: T0 + 1 }), true);
      assert.equal(await store.access.setRole({ person, role: "member", now: T0 + 2 }), true);
      assert.equal((await store.access.getAccount({ platform: "telegram", userId: "ann" }))?.role, "member");
      assert.deepEqual(await store.access.listGrants(), [
        {
          person,
          role: "member",
          since: T0 + 1,
          accounts: [{ platform: "telegram", userId: "ann", name: "ann" }],
        },
      ]);
      assert.equal(await store.access.setRole({ person, role: undefined, now: T0 + 3 }), true);
      assert.equal((await store.access.getAccount({ platform: "telegram", userId: "ann" }))?.role, undefined);
      assert.deepEqual(await store.access.listGrants(), []);
      assert.equal(await store.access.setRole({ person: "p_nobody", role: "member", now: T0 }), false);
    });

    rule("of the owner cannot be revoked", async ({ create, store }) => {
      assert.equal(await store.access.setRole({ person: OWNER, role: undefined, now: T0 }), false);
      await create(OWNER);
      assert.equal(await store.access.setRole({ person: OWNER, role: "member", now: T0 }), false);
      const [{ person, role } = {}] = await store.access.listGrants();
      assert.deepEqual([person, role], [OWNER, "owner"]);
    });
  });

  describe("a code", () => {
    rule(
      "is issued at most once per interval to each account, and the newest one is valid",
      async (scene) => {
        const { store } = scene;
        const first = await requestPairing(scene, "ann");
        assert.equal(first.state, "asked");
        assert.deepEqual(await requestPairing(scene, "ann", { now: T0 + PAIRING_INTERVAL_MS - 1 }), {
          state: "too_soon",
          until: T0 + PAIRING_INTERVAL_MS,
        });
        assert.equal((await requestPairing(scene, "bob", { now: T0 + 1 })).state, "asked");
        const again = await requestPairing(scene, "ann", { now: T0 + PAIRING_INTERVAL_MS });
        assert.equal(again.state, "asked");
        const codes = await store.access.listPairings({ now: T0 + PAIRING_INTERVAL_MS });
        assert.deepEqual(
          codes.map(({ asker }) => asker?.userId),
          ["bob", "ann"],
        );
        assert.equal(codes[1]?.hash, "hash-ann");
      },
    );

    rule("is found by either id of the requester", async (scene) => {
      await requestPairing(scene, "ann", { asker: { ...ANN, userId: "1", userIdAlt: "2" } });
      const both = await requestPairing(scene, "ann", { asker: { ...ANN, userId: "1" } });
      assert.equal(both.state, "too_soon");
    });

    rule(
      "is never refused because of other requests: beyond the limit, the oldest request is dropped",
      async (scene) => {
        const { store } = scene;
        await store.sessions.create({
          session: { id: "s", kind: "chat", owner: "p_ann" },
          profile: "main",
          now: T0,
        });
        const askers = async (now: number) =>
          (await store.access.listPairings({ platform: "telegram", now })).map(
            ({ asker }) => asker?.userId ?? "a link",
          );
        for (let n = 0; n < 5; n += 1) assert.equal((await requestLinkCode(scene, "p_ann")).state, "asked");
        for (const name of ["a", "b", "c", "d"])
          assert.equal((await requestPairing(scene, name)).state, "asked");
        assert.equal((await requestPairing(scene, "e", { platform: "signal" })).state, "asked");
        // Codes that link an account are not counted and not dropped.
        const links = Array.from({ length: 5 }, () => "a link");
        assert.deepEqual(await askers(T0), [...links, "b", "c", "d"]);
        // A new request replaces the requester's old one.
        assert.equal((await requestPairing(scene, "b", { now: T0 + PAIRING_INTERVAL_MS })).state, "asked");
        assert.deepEqual(await askers(T0 + PAIRING_INTERVAL_MS), [...links, "c", "d", "b"]);
      },
    );

    rule("grants access to its requester, once", async (scene) => {
      const { store } = scene;
      const number = await createPairing(scene, "ann");
      const used = throwIfRefused(await store.access.redeemPairing({ pairing: number, now: T0 + 1 }));
      assert.deepEqual(used.account, { platform: "telegram", userId: "ann", name: "ann" });
      assert.deepEqual(await store.access.getAccount({ platform: "telegram", userId: "ann" }), {
        person: used.person,
        role: "member",
        name: "ann",
      });
      assertRefused(await store.access.redeemPairing({ pairing: number, now: T0 + 1 }), "not_found");
      assert.deepEqual(await store.access.listPairings({ now: T0 + 1 }), []);
      await scene.reopen();
      assert.equal((await scene.take(ANN, "hello")).conversation.person, used.person);
    });

    rule("that has expired grants no access", async (scene) => {
      const { store } = scene;
      const number = await createPairing(scene, "ann");
      assert.deepEqual(await store.access.listPairings({ now: T0 + HOUR }), []);
      assertRefused(await store.access.redeemPairing({ pairing: number, now: T0 + HOUR }), "expired");
      assert.equal(await store.access.getAccount({ platform: "telegram", userId: "ann" }), undefined);
    });

    rule("that links an account assigns it to the code's person, once", async (scene) => {
      const { store, take } = scene;
      const ann = requireValue((await take(ANN, "hello")).conversation.person);
      const code = await requestLinkCode(scene, ann);
      assert.ok(code.state === "asked");
      const account = { platform: "signal", userId: "+49", name: "Ann" };
      assertRefused(await store.access.redeemPairing({ pairing: code.number, now: T0 }), "invalid_input");
      assert.deepEqual(await store.access.redeemPairing({ pairing: code.number, account, now: T0 }), {
        person: ann,
        account,
      });
      assert.deepEqual(await store.access.getAccount(account), { person: ann, name: "Ann" });
      assertRefused(
        await store.access.redeemPairing({ pairing: code.number, account, now: T0 }),
        "not_found",
      );
    });

    rule("is listed by platform", async (scene) => {
      await requestPairing(scene, "ann");
      await requestPairing(scene, "bob", { platform: "signal", asker: { ...BOB, platform: "signal" } });
      const codes = await scene.store.access.listPairings({ platform: "signal", now: T0 });
      assert.deepEqual(
        codes.map(({ platform, asker }) => [platform, asker?.userId]),
        [["signal", "bob"]],
      );
    });

    rule("needs a requester or a person", async (scene) => {
      const { asker: _, ...nobody } = buildPairingRequest("ann");
      await assertRejects(scene.store.access.requestPairing(nobody), "invalid_input");
    });
  });

  describe("a code that was requested while the clock was ahead", () => {
    rule("is no longer valid, and does not prevent a new request", async ({ store }) => {
      await store.access.requestPairing(buildPairingRequest("ann", { now: T0 + 48 * HOUR }));
      assert.deepEqual(await store.access.listPairings({ now: T0 }), []);
      assert.equal((await store.access.requestPairing(buildPairingRequest("ann"))).state, "asked");
      assert.equal((await store.access.listPairings({ now: T0 })).length, 1);
    });
  });

  describe("guesses", () => {
    rule("are counted, and too many cause a temporary lock", async ({ store }) => {
      const guess = (now: number, name = "telegram:ann") =>
        store.access.countGuess({ name, maxGuesses: 3, lockMs: HOUR, now });
      for (const at of [0, 1, 2]) assert.deepEqual(await guess(T0 + at), { allowed: true });
      const until = T0 + 2 + HOUR;
      assert.deepEqual(await guess(T0 + 3), { allowed: false, until });
      assert.deepEqual(await guess(T0 + 3, "telegram:bob"), { allowed: true });
      assert.deepEqual(await guess(until - 1), { allowed: false, until });
      // Then the count starts again.
      for (const at of [0, 1, 2]) assert.deepEqual(await guess(until + at), { allowed: true });
      assert.deepEqual(await guess(until + 3), { allowed: false, until: until + 2 + HOUR });
    });

    rule("never cause a longer lock, even if the clock was wrong when it started", async ({ store }) => {
      const guess = (now: number) => store.access.countGuess({ name: "x", maxGuesses: 2, lockMs: HOUR, now });
      for (const at of [0, 1]) await guess(T0 + 48 * HOUR + at);
      assert.deepEqual(await guess(T0), { allowed: true });
      assert.deepEqual(await guess(T0), { allowed: true });
      assert.deepEqual(await guess(T0), { allowed: false, until: T0 + HOUR });
    });

    rule("are reset after a correct one", async ({ store }) => {
      const guess = () => store.access.countGuess({ name: "x", maxGuesses: 2, lockMs: HOUR, now: T0 });
      await guess();
      await guess();
      await store.access.clearGuesses({ name: "x" });
      assert.deepEqual(await guess(), { allowed: true });
      assert.deepEqual(await guess(), { allowed: true });
      assert.deepEqual(await guess(), { allowed: false, until: T0 + HOUR });
    });
  });
}

function buildPairingRequest(name: string, more: Partial<PairingRequest> = {}): PairingRequest {
  const now = more.now ?? T0;
  return {
    platform: "telegram",
    asker: dm(name),
    salt: "salt",
    hash: `hash-${name}`,
    expiresAt: now + HOUR,
    everyMs: PAIRING_INTERVAL_MS,
    maxPending: 3,
    now,
    ...more,
  };
}

function requestPairing({ store }: Scene, name: string, more: Partial<PairingRequest> = {}) {
  return store.access.requestPairing(buildPairingRequest(name, more));
}

async function createPairing(scene: Scene, name: string): Promise<number> {
  const answer = await requestPairing(scene, name);
  assert.ok(answer.state === "asked");
  return answer.number;
}

function requestLinkCode({ store }: Scene, person: string) {
  const { asker: _, ...rest } = buildPairingRequest("link");
  return store.access.requestPairing({ ...rest, person });
}
