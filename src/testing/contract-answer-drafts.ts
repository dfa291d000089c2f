import assert from "node:assert/strict";
import type { Asker } from "../core/owner.ts";
import { throwIfRefused } from "../core/refusal.ts";
import type { AnswerDraft, Turn } from "../core/turn.ts";
import {
  ANN,
  assertRefused,
  assistant,
  EVERYONE,
  requireValue,
  type Scene,
  type StoreRule,
  T0,
  type TestApi,
  user,
} from "./scene.ts";

const DRAFT: AnswerDraft = {
  text: "Go nor",
  thought: "There is a map.\nIt is old.",
  plan: [
    { text: "Read the map", state: "completed" },
    { text: "Say where", state: "in_progress" },
  ],
};

/** Saved drafts of incomplete messages. */
export function defineAnswerDraftRules({ describe }: TestApi, rule: StoreRule): void {
  describe("the saved draft of an incomplete message", () => {
    rule("is stored, and returned to the runner that takes over the turn", async (scene) => {
      const turn = await scene.begin(ANN, "where?");
      assert.equal(turn.answerDraft, undefined);
      assert.deepEqual(await saveDraft(scene, turn, { text: "Go", thought: "" }), { kept: true });
      assert.deepEqual(await saveDraft(scene, turn, DRAFT), { kept: true });
      await scene.reopen();
      const again = await rerunTurn(scene, turn, "r2");
      assert.deepEqual([again.answerDraft, again.attempt], [DRAFT, 2]);
      assert.deepEqual(await scene.shows(turn.session), ["where?"], "the draft is no message");
      const third = await rerunTurn(scene, again, "r3");
      assert.deepEqual(third.answerDraft, DRAFT, "nothing replaced it");
      await saveDraft(scene, third, { text: "Go home", thought: "" });
      const fourth = await rerunTurn(scene, third, "r4");
      assert.deepEqual(fourth.answerDraft, { text: "Go home", thought: "" });
    });

    rule("can be read while the turn runs, with the seq of its future message", async (scene) => {
      const turn = await scene.begin(ANN, "where?");
      const growing = (asker: Asker = EVERYONE) =>
        scene.store.turns.getDraft({ asker, session: turn.session });
      assert.equal(await growing(), undefined);
      await saveDraft(scene, turn, DRAFT);
      assert.deepEqual(await growing(), { seq: 2, answerDraft: DRAFT });
      assert.equal(await growing({ person: "p_stranger" }), undefined);
      const holder = { asker: EVERYONE, session: turn.session, fence: turn.fence, now: T0 };
      throwIfRefused(await scene.store.messages.append({ ...holder, messages: [assistant("Go north.")] }));
      assert.equal(await growing(), undefined);
      await saveDraft(scene, turn, DRAFT);
      assert.equal((await growing())?.seq, 3);
      await scene.finish(turn, "Done.");
      assert.equal(await growing(), undefined);
    });

    rule("is absent if nothing was saved", async (scene) => {
      const turn = await scene.begin(ANN, "where?");
      assert.ok(!("answerDraft" in (await rerunTurn(scene, turn, "r2"))));
    });

    rule("is replaced by the next message of the turn's holder", async (scene) => {
      const turn = await scene.begin(ANN, "where?");
      await saveDraft(scene, turn, DRAFT);
      const holder = { asker: EVERYONE, session: turn.session, fence: turn.fence, now: T0 };
      throwIfRefused(await scene.store.messages.append({ ...holder, messages: [assistant("Go north.")] }));
      const again = await rerunTurn(scene, turn, "r2");
      assert.equal(again.answerDraft, undefined);
      assert.deepEqual(await scene.shows(turn.session), ["where?", "Go north."]);
    });

    rule("stays when others append messages, and when nothing is appended", async (scene) => {
      const turn = await scene.begin(ANN, "where?");
      await saveDraft(scene, turn, DRAFT);
      const ask = { asker: EVERYONE, session: turn.session, now: T0 };
      throwIfRefused(await scene.store.messages.append({ ...ask, messages: [user("by the way")] }));
      throwIfRefused(await scene.store.messages.append({ ...ask, fence: turn.fence, messages: [] }));
      assert.deepEqual((await rerunTurn(scene, turn, "r2")).answerDraft, DRAFT);
    });

    rule(
      "belongs to its turn: neither a message of another session nor the next turn changes it",
      async (scene) => {
        const turn = await scene.begin(ANN, "where?");
        await saveDraft(scene, turn, DRAFT);
        const other = await scene.begin({ ...ANN, chatId: "other" }, "and here?");
        await saveDraft(scene, other, { text: "Here", thought: "" });
        const holder = { asker: EVERYONE, session: other.session, fence: other.fence, now: T0 };
        throwIfRefused(await scene.store.messages.append({ ...holder, messages: [assistant("Here.")] }));
        await scene.take({ ...ANN, chatId: "other" }, "really?", { claim: { runner: "r1", take: "one" } });
        await saveDraft(scene, other, { text: "Yes", thought: "" });
        const next = { runner: "r1", take: "one" } as const;
        const following = requireValue((await scene.finish(other, "Yes.", { next })).next);
        await scene.store.runners.retire({ runner: "r1" });
        assert.equal(requireValue(await scene.claim(following.session, "r2")).answerDraft, undefined);
        assert.deepEqual(requireValue(await scene.claim(turn.session, "r2")).answerDraft, DRAFT);
      },
    );

    rule("is refused under an old fence, and changes nothing", async (scene) => {
      const turn = await scene.begin(ANN, "where?");
      await saveDraft(scene, turn, DRAFT);
      const late = { text: "too late", thought: "" };
      assertRefused(await saveDraft(scene, { ...turn, fence: turn.fence + 1 }, late), "stale_fence");
      assertRefused(await saveDraft(scene, { ...turn, number: 4711 }, late), "stale_fence");
      const again = await rerunTurn(scene, turn, "r2");
      assertRefused(await saveDraft(scene, turn, late), "stale_fence");
      assert.deepEqual((await rerunTurn(scene, again, "r3")).answerDraft, DRAFT);
    });

    rule("is refused once the turn has ended", async (scene) => {
      const turn = await scene.begin(ANN, "where?");
      await scene.finish(turn, "Go north.");
      assertRefused(await saveDraft(scene, turn, DRAFT), "stale_fence");
    });
  });
}

function saveDraft({ store }: Scene, { number, fence }: Pick<Turn, "number" | "fence">, said: AnswerDraft) {
  return store.turns.saveDraft({ turn: number, fence, answerDraft: said });
}

/** The earlier runners have retired, and this one claims the session. */
async function rerunTurn(scene: Scene, turn: Turn, by: string): Promise<Turn> {
  for (const id of ["r1", "r2", "r3"]) if (id < by) await scene.store.runners.retire({ runner: id });
  return requireValue(await scene.claim(turn.session, by));
}
