import assert from "node:assert/strict";
import type { ApprovalAnswer, ApprovalRequest } from "../core/approval.ts";
import { textPart } from "../core/message.ts";
import { throwIfRefused } from "../core/refusal.ts";
import type { Turn } from "../core/turn.ts";
import {
  ANN,
  assertRefused,
  BOB,
  EVERYONE,
  GROUP,
  inGroup,
  MINUTE,
  requireValue,
  SCOPE_SHARED,
  type Scene,
  type StoreRule,
  T0,
  type TestApi,
} from "./scene.ts";

const REQUEST: ApprovalRequest = { title: "Remove a folder", detail: "rm -r build", pattern: "rm -r *" };
const DEADLINE = T0 + MINUTE;

/** Approval requests and approval rules. */
export function defineApprovalRules({ describe }: TestApi, rule: StoreRule): void {
  describe("an approval request", () => {
    rule("stays open until it is answered, also after a restart", async (scene) => {
      const turn = await scene.begin(ANN, "tidy up");
      const asked = throwIfRefused(await createApproval(scene, turn));
      const { owner: person } = await scene.get(turn.session);
      assert.deepEqual(asked, {
        number: asked.number,
        session: turn.session,
        conversation: turn.conversation,
        person,
        target: ANN,
        request: REQUEST,
        askedAt: T0,
        deadline: DEADLINE,
      });
      await scene.reopen();
      const { store } = scene;
      const second = throwIfRefused(await createApproval(scene, turn, { title: "And another" }));
      assert.deepEqual(await store.access.listApprovals({ person }), [asked, second]);
      assert.deepEqual(await store.access.listApprovals({ person, conversation: turn.conversation }), [
        asked,
        second,
      ]);
      assert.deepEqual(await store.access.listApprovals({ person, conversation: turn.conversation + 1 }), []);
      assert.deepEqual(await store.access.listApprovals({ person: "p_nobody" }), []);
      const answered = throwIfRefused(await answerApproval(scene, person, asked.number, "once", T0 + 5));
      assert.deepEqual(answered, { ...asked, answer: "once", answeredAt: T0 + 5 });
      assert.deepEqual(await store.access.listApprovals({ person }), [second]);
      assert.deepEqual(
        await store.access.getApproval({ asker: { person }, approval: asked.number }),
        answered,
      );
    });

    rule("can be answered until its new deadline when that was moved while it was open", async (scene) => {
      const turn = await scene.begin(ANN, "tidy up");
      const { number: approval, person } = throwIfRefused(await createApproval(scene, turn));
      const deadline = DEADLINE + 60 * MINUTE;
      await scene.store.access.moveApprovalDeadline({ approval, deadline });
      await scene.reopen();
      throwIfRefused(await answerApproval(scene, person, approval, "once", deadline));
      await scene.store.access.moveApprovalDeadline({ approval, deadline: T0 });
      const asker = { person };
      assert.equal(
        requireValue(await scene.store.access.getApproval({ asker, approval })).deadline,
        deadline,
      );
    });

    rule("is refused from a turn that was taken over or has ended", async (scene) => {
      const turn = await scene.begin(ANN, "tidy up");
      assertRefused(await createApproval(scene, { ...turn, fence: turn.fence - 1 }), "stale_fence");
      await scene.finish(turn, "done");
      assertRefused(await createApproval(scene, turn), "stale_fence");
      assertRefused(await createApproval(scene, { ...turn, number: 4711 }), "stale_fence");
    });

    rule("is not repeated when its turn is retried, and keeps its deadline", async (scene) => {
      const { asked, again } = await rerunAfterCrash(scene);
      const taken = throwIfRefused(await createApproval(scene, again, REQUEST, T0 + 5));
      assert.deepEqual(taken, asked);
      const { person } = asked;
      assert.deepEqual(await scene.store.access.listApprovals({ person }), [asked]);
      // The same request in the same attempt is a new one.
      const second = throwIfRefused(await createApproval(scene, again, REQUEST, T0 + 5));
      assert.notEqual(second.number, asked.number);
      throwIfRefused(await answerApproval(scene, person, asked.number, "once"));
      throwIfRefused(await answerApproval(scene, person, second.number, "deny"));
    });

    rule("keeps an answer that arrived between two attempts of its turn", async (scene) => {
      for (const [source, given] of [
        [ANN, "once"],
        [BOB, "deny"],
      ] as const) {
        const { asked, again } = await rerunAfterCrash(scene, source);
        throwIfRefused(await answerApproval(scene, asked.person, asked.number, given, T0 + 5));
        assert.deepEqual(throwIfRefused(await createApproval(scene, again)), {
          ...asked,
          answer: given,
          answeredAt: T0 + 5,
        });
        // It is reused once.
        assert.equal(throwIfRefused(await createApproval(scene, again)).answer, undefined);
      }
    });

    rule("is created again if it differs, or if the first one expired", async (scene) => {
      const { asked, again } = await rerunAfterCrash(scene);
      const other = throwIfRefused(await createApproval(scene, again, { ...REQUEST, detail: "rm -r dist" }));
      assert.notEqual(other.number, asked.number);
      const late = throwIfRefused(await createApproval(scene, again, REQUEST, DEADLINE + 1));
      assert.notEqual(late.number, asked.number);
      assert.equal(late.deadline, DEADLINE + 1 + MINUTE);
    });

    rule(
      "of a crashed attempt is closed with the turn, so that it cannot be answered any more",
      async (scene) => {
        const { asked, again } = await rerunAfterCrash(scene);
        await scene.finish(again, "done");
        assert.deepEqual(await scene.store.access.listApprovals({ person: asked.person }), []);
        const left = await scene.store.access.getApproval({ asker: EVERYONE, approval: asked.number });
        assert.equal(left?.answer, "expired");
        assertRefused(await answerApproval(scene, asked.person, asked.number, "once"), "expired");
      },
    );

    rule("records whether it was posted in the chat", async (scene) => {
      const { asked, again } = await rerunAfterCrash(scene);
      assert.equal(asked.isPosted, undefined);
      const delivery = { target: ANN, parts: [textPart("May I?")] };
      await scene.store.outbox.enqueue({
        deliveries: [delivery],
        runner: "r1",
        approval: asked.number,
        now: T0,
      });
      assert.deepEqual(throwIfRefused(await createApproval(scene, again)), { ...asked, isPosted: true });
      assert.equal(throwIfRefused(await createApproval(scene, again)).isPosted, undefined);
    });

    rule("is answered once, and a second attempt gets the first answer", async (scene) => {
      const { person, number } = await createQuestion(scene);
      throwIfRefused(await answerApproval(scene, person, number, "deny"));
      const refused = assertRefused(await answerApproval(scene, person, number, "always"), "not_allowed");
      assert.equal(refused.details?.answer, "deny");
      assert.equal(
        await scene.store.access.checkApprovalRules({
          person,
          session: "any",
          pattern: requireValue(REQUEST.pattern),
        }),
        undefined,
      );
      assertRefused(await answerApproval(scene, person, 4711, "once"), "not_found");
    });

    rule("cannot be answered by another person", async (scene) => {
      const { number, person } = await createQuestion(scene);
      assertRefused(await answerApproval(scene, "p_bob", number, "once"), "not_allowed");
      const { store } = scene;
      assert.equal(
        await store.access.getApproval({ asker: { person: "p_bob" }, approval: number }),
        undefined,
      );
      assert.equal(
        await store.access.getApproval({ asker: { person, chat: GROUP }, approval: number }),
        undefined,
      );
      assert.equal(
        (await store.access.getApproval({ asker: EVERYONE, approval: number }))?.answer,
        undefined,
      );
    });

    rule("cannot be answered after its deadline", async (scene) => {
      const { person, number } = await createQuestion(scene);
      assertRefused(await answerApproval(scene, person, number, "always", DEADLINE + 1), "expired");
      const asker = { person };
      assert.equal((await scene.store.access.getApproval({ asker, approval: number }))?.answer, "expired");
      assert.deepEqual(await scene.store.access.listApprovals(asker), []);
      assertRefused(await answerApproval(scene, person, number, "once", DEADLINE), "expired");
    });

    rule("can expire before its deadline", async (scene) => {
      const { person, number } = await createQuestion(scene);
      assert.equal(throwIfRefused(await answerApproval(scene, person, number, "expired")).answer, "expired");
      assertRefused(await answerApproval(scene, person, number, "once"), "expired");
    });

    rule("in a shared conversation is for the sender of the turn's last input", async (scene) => {
      const inside = { scope: SCOPE_SHARED };
      await scene.talk(inGroup("ann"), "hello", "hi", inside);
      const turn = await scene.begin(inGroup("bob"), "tidy up", inside);
      const asked = throwIfRefused(await createApproval(scene, turn));
      const known = await scene.store.access.getAccount({ platform: "telegram", userId: "bob" });
      assert.equal(asked.person, requireValue(known).person);
      const ann = requireValue(
        await scene.store.access.getAccount({ platform: "telegram", userId: "ann" }),
      ).person;
      assertRefused(await answerApproval(scene, ann, asked.number, "once"), "not_allowed");
      const asker = { person: asked.person, chat: GROUP };
      assert.deepEqual(await scene.store.access.getApproval({ asker, approval: asked.number }), asked);
    });
  });

  describe("an approval rule", () => {
    rule("for a session applies to that session only", async (scene) => {
      const { person, number, session } = await createQuestion(scene);
      const pattern = requireValue(REQUEST.pattern);
      const other = await scene.create(person);
      throwIfRefused(await answerApproval(scene, person, number, "session"));
      assert.equal(await scene.store.access.checkApprovalRules({ person, session, pattern }), "allowed");
      assert.equal(
        await scene.store.access.checkApprovalRules({ person, session: other.id, pattern }),
        undefined,
      );
      assert.equal(
        await scene.store.access.checkApprovalRules({ person, session, pattern: "rm *" }),
        undefined,
      );
      assert.equal(
        await scene.store.access.checkApprovalRules({ person: "p_bob", session, pattern }),
        undefined,
      );
    });

    rule("'always' applies to all sessions of that person", async (scene) => {
      const { person, number } = await createQuestion(scene);
      const pattern = requireValue(REQUEST.pattern);
      throwIfRefused(await answerApproval(scene, person, number, "always"));
      await scene.reopen();
      assert.equal(
        await scene.store.access.checkApprovalRules({ person, session: "any", pattern }),
        "allowed",
      );
      assert.equal(
        await scene.store.access.checkApprovalRules({ person: "p_bob", session: "any", pattern }),
        undefined,
      );
    });

    rule("is not stored for 'once', nor without a pattern", async (scene) => {
      const turn = await scene.begin(ANN, "tidy up");
      const plain = throwIfRefused(await createApproval(scene, turn, { title: "Just this" }));
      const once = throwIfRefused(await createApproval(scene, turn));
      throwIfRefused(await answerApproval(scene, plain.person, plain.number, "always"));
      const no = throwIfRefused(await createApproval(scene, turn, { title: "Nor this" }));
      throwIfRefused(await answerApproval(scene, no.person, no.number, "never"));
      throwIfRefused(await answerApproval(scene, once.person, once.number, "once"));
      const { person, session } = once;
      for (const pattern of [requireValue(REQUEST.pattern), "", "undefined"])
        assert.equal(await scene.store.access.checkApprovalRules({ person, session, pattern }), undefined);
    });

    rule("'never' denies in all sessions of that person", async (scene) => {
      const { person, number, session } = await createQuestion(scene);
      const pattern = requireValue(REQUEST.pattern);
      assert.equal(throwIfRefused(await answerApproval(scene, person, number, "never")).answer, "never");
      await scene.reopen();
      const { store } = scene;
      for (const where of [session, "any"])
        assert.equal(await store.access.checkApprovalRules({ person, session: where, pattern }), "never");
      assert.equal(await store.access.checkApprovalRules({ person, session, pattern: "rm *" }), undefined);
      assert.equal(await store.access.checkApprovalRules({ person: "p_bob", session, pattern }), undefined);
      const { allowed, counts } = requireValue(await store.access.readPersonData({ person }));
      assert.deepEqual([allowed, counts.allowed], [[{ pattern, never: true, at: T0 }], 1]);
    });

    rule("follows the last answer of 'always' and 'never'", async (scene) => {
      const turn = await scene.begin(ANN, "tidy up");
      const pattern = requireValue(REQUEST.pattern);
      for (const given of ["always", "never", "never", "always", "always", "never"] as const) {
        const { person, number, session } = throwIfRefused(await createApproval(scene, turn));
        throwIfRefused(await answerApproval(scene, person, number, given));
        const expected = given === "never" ? "never" : "allowed";
        assert.equal(await scene.store.access.checkApprovalRules({ person, session, pattern }), expected);
      }
    });

    rule("'never' overrides a rule for the session, in either order", async (scene) => {
      const pattern = requireValue(REQUEST.pattern);
      for (const [source, order] of [
        [ANN, ["session", "never"]],
        [BOB, ["never", "session"]],
      ] as const) {
        const turn = await scene.begin(source, "tidy up");
        for (const given of order) {
          const { person, number } = throwIfRefused(await createApproval(scene, turn));
          throwIfRefused(await answerApproval(scene, person, number, given));
        }
        const { owner: person, id: session } = await scene.get(turn.session);
        assert.equal(await scene.store.access.checkApprovalRules({ person, session, pattern }), "never");
      }
    });

    rule("for a folder applies to that folder only", async (scene) => {
      const { store } = scene;
      const turn = await scene.begin(ANN, "tidy up");
      const pattern = requireValue(REQUEST.pattern);
      for (const given of ["session", "always"] as const) {
        const folder = `/home/ann/${given}`;
        const { person, number, session } = throwIfRefused(
          await createApproval(scene, turn, { ...REQUEST, folder }),
        );
        const elsewhere = { person, session, pattern, folder: "/home/ann/other" };
        throwIfRefused(await answerApproval(scene, person, number, given));
        assert.equal(await store.access.checkApprovalRules({ person, session, pattern, folder }), "allowed");
        assert.equal(await store.access.checkApprovalRules(elsewhere), undefined);
        assert.equal(await store.access.checkApprovalRules({ person, session, pattern }), undefined);
        const always = given === "always" ? "allowed" : undefined;
        assert.equal(
          await store.access.checkApprovalRules({ person, session: "any", pattern, folder }),
          always,
        );
      }
      const { owner: person } = await scene.get(turn.session);
      const { allowed } = requireValue(await store.access.readPersonData({ person }));
      assert.deepEqual(allowed.map(({ folder }) => folder).toSorted(), [
        "/home/ann/always",
        "/home/ann/session",
      ]);
    });

    rule("without a folder does not apply to a folder", async (scene) => {
      const { person, number, session } = await createQuestion(scene);
      const pattern = requireValue(REQUEST.pattern);
      throwIfRefused(await answerApproval(scene, person, number, "always"));
      assert.equal(await scene.store.access.checkApprovalRules({ person, session, pattern }), "allowed");
      assert.equal(
        await scene.store.access.checkApprovalRules({ person, session, pattern, folder: "/tmp" }),
        undefined,
      );
    });

    rule("'never' denies in every folder, until the pattern is allowed again in one", async (scene) => {
      const { store } = scene;
      const turn = await scene.begin(ANN, "tidy up");
      const pattern = requireValue(REQUEST.pattern);
      const [shop, tmp] = ["/home/ann/shop", "/tmp"];
      const { owner: person, id: session } = await scene.get(turn.session);
      const say = async (folder: string, given: ApprovalAnswer): Promise<void> => {
        const { number } = throwIfRefused(await createApproval(scene, turn, { ...REQUEST, folder }));
        throwIfRefused(await answerApproval(scene, person, number, given));
      };
      const standings = (): Promise<unknown[]> =>
        Promise.all(
          [shop, tmp, undefined].map((folder) =>
            store.access.checkApprovalRules({
              person,
              session,
              pattern,
              ...(folder !== undefined && { folder }),
            }),
          ),
        );
      await say(shop, "always");
      await say(tmp, "never");
      assert.deepEqual(await standings(), ["never", "never", "never"]);
      assert.equal((await store.access.listApprovalRules({ person })).length, 1);
      await say(shop, "always");
      assert.deepEqual(await standings(), ["allowed", undefined, undefined]);
    });

    rule("is not stored for a request that allows only 'once', except 'never'", async (scene) => {
      const turn = await scene.begin(ANN, "tidy up");
      const pattern = requireValue(REQUEST.pattern);
      for (const given of ["session", "always", "never"] as const) {
        const { person, number, session } = throwIfRefused(
          await createApproval(scene, turn, { ...REQUEST, onlyOnce: true }),
        );
        throwIfRefused(await answerApproval(scene, person, number, given));
        const expected = given === "never" ? "never" : undefined;
        assert.equal(await scene.store.access.checkApprovalRules({ person, session, pattern }), expected);
      }
    });

    rule("is listed with its folder, and removed for that folder only", async (scene) => {
      const { store } = scene;
      const turn = await scene.begin(ANN, "tidy up");
      const pattern = requireValue(REQUEST.pattern);
      const { owner: person, id: session } = await scene.get(turn.session);
      for (const [at, folder] of ["/a", "/b"].entries()) {
        const { number } = throwIfRefused(await createApproval(scene, turn, { ...REQUEST, folder }));
        throwIfRefused(await answerApproval(scene, person, number, "always", T0 + at));
      }
      assert.deepEqual(await store.access.listApprovalRules({ person }), [
        { pattern, folder: "/a", kind: "allowed", at: T0 },
        { pattern, folder: "/b", kind: "allowed", at: T0 + 1 },
      ]);
      assert.equal(await store.access.removeApprovalRule({ person, pattern, now: T0 }), false);
      assert.equal(await store.access.removeApprovalRule({ person, pattern, folder: "/a", now: T0 }), true);
      assert.equal(
        await store.access.checkApprovalRules({ person, session, pattern, folder: "/a" }),
        undefined,
      );
      assert.equal(
        await store.access.checkApprovalRules({ person, session, pattern, folder: "/b" }),
        "allowed",
      );
    });

    rule("is listed, and can be removed", async (scene) => {
      const { store } = scene;
      const { person, session, turn, number } = await createQuestion(scene);
      const pattern = requireValue(REQUEST.pattern);
      throwIfRefused(await answerApproval(scene, person, number, "session", T0 + 1));
      const more = throwIfRefused(await createApproval(scene, turn));
      throwIfRefused(await answerApproval(scene, person, more.number, "never", T0 + 2));
      assert.deepEqual(await store.access.listApprovalRules({ person }), [
        { pattern, kind: "allowed", session, at: T0 + 1 },
        { pattern, kind: "never", at: T0 + 2 },
      ]);
      assert.deepEqual(await store.access.listApprovalRules({ person: "p_bob" }), []);
      for (const wrong of [
        { person: "p_bob", pattern },
        { person, pattern: "rm *" },
        { person, pattern, session: "x" },
      ])
        assert.equal(await store.access.removeApprovalRule({ ...wrong, now: T0 }), false);
      assert.equal(await store.access.removeApprovalRule({ person, pattern, now: T0 }), true);
      assert.equal(await store.access.removeApprovalRule({ person, pattern, now: T0 }), false);
      assert.equal(await store.access.checkApprovalRules({ person, session, pattern }), "allowed");
      assert.equal(await store.access.removeApprovalRule({ person, pattern, session, now: T0 }), true);
      assert.equal(await store.access.checkApprovalRules({ person, session, pattern }), undefined);
      assert.deepEqual(await store.access.listApprovalRules({ person }), []);
    });

    rule("is removed with its session, and so are its requests", async (scene) => {
      const { person, number, session, turn } = await createQuestion(scene);
      throwIfRefused(await answerApproval(scene, person, number, "session"));
      const open = throwIfRefused(await createApproval(scene, turn)).number;
      await scene.finish(turn, "done");
      const fork = await scene.fork(session);
      assert.equal(await scene.store.sessions.remove({ asker: EVERYONE, session, now: T0 }), true);
      for (const approval of [number, open])
        assert.equal(await scene.store.access.getApproval({ asker: EVERYONE, approval }), undefined);
      const data = requireValue(await scene.store.access.readPersonData({ person }));
      assert.deepEqual([data.approvals, data.allowed], [[], []]);
      assert.deepEqual(await scene.shows(fork.id), ["tidy up", "done"]);
    });
  });
}

function createApproval(
  { store }: Scene,
  turn: Pick<Turn, "number" | "fence">,
  request: ApprovalRequest = REQUEST,
  now = T0,
) {
  const { number, fence } = turn;
  return store.access.createApproval({ turn: number, fence, request, deadline: now + MINUTE, now });
}

/** A request of a turn whose runner crashed, and the turn of the runner that took over. */
async function rerunAfterCrash(scene: Scene, source = ANN) {
  const { store, deadRunner } = scene;
  const gone = deadRunner ?? { id: "never seen", host: "", boot: "", pid: 0, started: "" };
  if (deadRunner !== undefined) await store.runners.recordHeartbeat({ runner: gone, now: T0 });
  const { turn } = await scene.take(source, "tidy up", { claim: { runner: gone.id, take: "one" } });
  const asked = throwIfRefused(await createApproval(scene, requireValue(turn)));
  return { asked, again: requireValue(await scene.claim(asked.session)) };
}

function answerApproval(
  { store }: Scene,
  person: string,
  approval: number,
  given: ApprovalAnswer | "expired",
  now = T0,
) {
  return store.access.answerApproval({ person, approval, answer: given, now });
}

async function createQuestion(scene: Scene) {
  const turn = await scene.begin(ANN, "tidy up");
  return { ...throwIfRefused(await createApproval(scene, turn)), turn };
}
