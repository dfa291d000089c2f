import assert from "node:assert/strict";
import type { Asker } from "../core/owner.ts";
import { unrefused } from "../core/refusal.ts";
import type { SaidSoFar, Turn } from "../core/turn.ts";
import {
  ANN,
  assertRefused,
  assistant,
  EVERYONE,
  present,
  type Rule,
  type Scene,
  T0,
  type TestApi,
  user,
} from "./scene.ts";

const SAID: SaidSoFar = {
  text: "Go nor",
  thought: "There is a map.\nIt is old.",
  plan: [
    { text: "Read the map", state: "completed" },
    { text: "Say where", state: "in_progress" },
  ],
};

/** An answer before its message is whole. */
export function sayingRules({ describe }: TestApi, rule: Rule): void {
  describe("what is said of an answer before its message is whole", () => {
    rule("is kept, and told to whoever takes the turn up", async (scene) => {
      const turn = await scene.begin(ANN, "where?");
      assert.equal(turn.said, undefined);
      assert.deepEqual(await keep(scene, turn, { text: "Go", thought: "" }), { kept: true });
      assert.deepEqual(await keep(scene, turn, SAID), { kept: true });
      await scene.reopen();
      const again = await takenUp(scene, turn, "r2");
      assert.deepEqual([again.said, again.attempt], [SAID, 2]);
      assert.deepEqual(await scene.shows(turn.session), ["where?"], "it is no message yet");
      const third = await takenUp(scene, again, "r3");
      assert.deepEqual(third.said, SAID, "nothing has taken its place");
      await keep(scene, third, { text: "Go home", thought: "" });
      const fourth = await takenUp(scene, third, "r4");
      assert.deepEqual(fourth.said, { text: "Go home", thought: "" });
    });

    rule("can be read, with the seq of the message that it will be, while the turn runs", async (scene) => {
      const turn = await scene.begin(ANN, "where?");
      const growing = (asker: Asker = EVERYONE) => scene.store.growing({ asker, session: turn.session });
      assert.equal(await growing(), undefined);
      await keep(scene, turn, SAID);
      assert.deepEqual(await growing(), { seq: 2, said: SAID });
      assert.equal(await growing({ person: "p_stranger" }), undefined);
      const holder = { asker: EVERYONE, session: turn.session, fence: turn.fence, now: T0 };
      unrefused(await scene.store.append({ ...holder, messages: [assistant("Go north.")] }));
      assert.equal(await growing(), undefined);
      await keep(scene, turn, SAID);
      assert.equal((await growing())?.seq, 3);
      await scene.finish(turn, "Done.");
      assert.equal(await growing(), undefined);
    });

    rule("is not there where nothing was said", async (scene) => {
      const turn = await scene.begin(ANN, "where?");
      assert.ok(!("said" in (await takenUp(scene, turn, "r2"))));
    });

    rule("is replaced by the holder's next message", async (scene) => {
      const turn = await scene.begin(ANN, "where?");
      await keep(scene, turn, SAID);
      const holder = { asker: EVERYONE, session: turn.session, fence: turn.fence, now: T0 };
      unrefused(await scene.store.append({ ...holder, messages: [assistant("Go north.")] }));
      const again = await takenUp(scene, turn, "r2");
      assert.equal(again.said, undefined);
      assert.deepEqual(await scene.shows(turn.session), ["where?", "Go north."]);
    });

    rule("stays when others say something, and when nothing is said", async (scene) => {
      const turn = await scene.begin(ANN, "where?");
      await keep(scene, turn, SAID);
      const ask = { asker: EVERYONE, session: turn.session, now: T0 };
      unrefused(await scene.store.append({ ...ask, messages: [user("by the way")] }));
      unrefused(await scene.store.append({ ...ask, fence: turn.fence, messages: [] }));
      assert.deepEqual((await takenUp(scene, turn, "r2")).said, SAID);
    });

    rule(
      "is the turn's own: neither another session's message nor the next turn touches it",
      async (scene) => {
        const turn = await scene.begin(ANN, "where?");
        await keep(scene, turn, SAID);
        const other = await scene.begin({ ...ANN, chatId: "other" }, "and here?");
        await keep(scene, other, { text: "Here", thought: "" });
        const holder = { asker: EVERYONE, session: other.session, fence: other.fence, now: T0 };
        unrefused(await scene.store.append({ ...holder, messages: [assistant("Here.")] }));
        await scene.take({ ...ANN, chatId: "other" }, "really?", { claim: { runner: "r1", take: "one" } });
        await keep(scene, other, { text: "Yes", thought: "" });
        const next = { runner: "r1", take: "one" } as const;
        const following = present((await scene.finish(other, "Yes.", { next })).next);
        await scene.store.retire({ runner: "r1" });
        assert.equal(present(await scene.claim(following.session, "r2")).said, undefined);
        assert.deepEqual(present(await scene.claim(turn.session, "r2")).said, SAID);
      },
    );

    rule("is refused from whoever does not hold the turn, and changes nothing", async (scene) => {
      const turn = await scene.begin(ANN, "where?");
      await keep(scene, turn, SAID);
      const late = { text: "too late", thought: "" };
      assertRefused(await keep(scene, { ...turn, fence: turn.fence + 1 }, late), "stale_fence");
      assertRefused(await keep(scene, { ...turn, number: 4711 }, late), "stale_fence");
      const again = await takenUp(scene, turn, "r2");
      assertRefused(await keep(scene, turn, late), "stale_fence");
      assert.deepEqual((await takenUp(scene, again, "r3")).said, SAID);
    });

    rule("is refused once the turn has ended", async (scene) => {
      const turn = await scene.begin(ANN, "where?");
      await scene.finish(turn, "Go north.");
      assertRefused(await keep(scene, turn, SAID), "stale_fence");
    });
  });
}

function keep({ store }: Scene, { number, fence }: Pick<Turn, "number" | "fence">, said: SaidSoFar) {
  return store.keepSaid({ turn: number, fence, said });
}

/** The runners before have gone, and this one claims the session. */
async function takenUp(scene: Scene, turn: Turn, by: string): Promise<Turn> {
  for (const id of ["r1", "r2", "r3"]) if (id < by) await scene.store.retire({ runner: id });
  return present(await scene.claim(turn.session, by));
}
