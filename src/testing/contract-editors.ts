import assert from "node:assert/strict";
import { getText } from "../core/message.ts";
import { OWNER } from "../core/owner.ts";
import { throwIfRefused } from "../core/refusal.ts";
import type { Source } from "../core/source.ts";
import type { ClaimBy, Turn } from "../core/turn.ts";
import {
  ANN,
  EVERYONE,
  requireValue,
  SCOPE_PER_USER,
  type Scene,
  type StoreRule,
  T0,
  type TestApi,
} from "./scene.ts";

/** The process of an editor, and a gateway. */
const EDITOR = { runner: "e1", take: "one" } as const;
const GATEWAY = { runner: "g1", take: "one" } as const;
const OWN = { ...EDITOR, own: true } as const;

/** Only the process that an editor started can reach it. A process can also claim only its own messages. */
export function defineEditorRules({ describe }: TestApi, rule: StoreRule): void {
  describe("a pending message from an editor", () => {
    rule("is reserved for the live process that accepted it", async (scene) => {
      const at = await createEditorScene(scene);
      await at.waiting(["edit", EDITOR]);
      assert.equal(await at.claim(GATEWAY), undefined);
      assert.equal(await at.claim({ ...GATEWAY, take: "all" }), undefined);
      assert.deepEqual(await at.texts(await at.claim(EDITOR)), ["edit"]);
    });

    rule("is skipped, and does not block other messages", async (scene) => {
      const at = await createEditorScene(scene);
      await at.waiting(["edit", EDITOR], ["chat", GATEWAY], ["edit more", EDITOR]);
      const turn = requireValue(await at.claim(GATEWAY));
      assert.deepEqual([await at.texts(turn), turn.target], [["chat"], ANN]);
      assert.equal((await scene.finish(turn, "", { next: GATEWAY })).next, undefined);
      const next = requireValue(await at.claim(EDITOR));
      assert.deepEqual(await at.texts(next), ["edit"], "it kept its position");
      const last = (await scene.finish(next, "", { next: EDITOR })).next;
      assert.deepEqual(await at.texts(last), ["edit more"]);
    });

    rule("is skipped when a turn ends, and stays available for its own process", async (scene) => {
      const at = await createEditorScene(scene);
      const turn = await at.busy(["edit", EDITOR], ["chat", GATEWAY]);
      const next = (await scene.finish(turn, "", { next: { ...GATEWAY, take: "all" } })).next;
      assert.deepEqual(await at.texts(next), ["chat"]);
      const last = (await scene.finish(requireValue(next), "", { next: EDITOR })).next;
      assert.deepEqual(await at.texts(last), ["edit"]);
    });

    rule("is skipped one by one, if two editor processes share a conversation", async (scene) => {
      const at = await createEditorScene(scene);
      const other = { runner: "e2", take: "all" } as const;
      await at.waiting(["one", EDITOR], ["two", other], ["three", EDITOR], ["four", other]);
      assert.deepEqual(await at.texts(await at.claim(other)), ["two", "four"]);
      await scene.store.runners.retire({ runner: "e2" });
      const again = requireValue(await at.claim({ ...EDITOR, take: "all" }));
      assert.equal(again.attempt, 2);
      const rest = (await scene.finish(again, "", { next: { ...EDITOR, take: "all" } })).next;
      assert.deepEqual(await at.texts(rest), ["one", "three"]);
    });

    rule("differs from all other messages, which any process can claim", async (scene) => {
      const at = await createEditorScene(scene);
      await at.waiting(["chat", GATEWAY], ["chat more", GATEWAY]);
      const turn = requireValue(await at.claim({ ...GATEWAY, runner: "g2" }));
      assert.deepEqual(await at.texts(turn), ["chat"]);
      const next = (await scene.finish(turn, "", { next: EDITOR })).next;
      assert.deepEqual(await at.texts(next), ["chat more"]);
    });

    rule("can be claimed by any process after its own has ended, in its position", async (scene) => {
      const at = await createEditorScene(scene);
      await at.waiting(["edit", EDITOR], ["chat", GATEWAY]);
      await scene.store.runners.retire({ runner: "e1" });
      assert.deepEqual(await at.texts(await at.claim(GATEWAY)), ["edit"]);
    });

    rule("can be claimed by any process after its own was silent for too long", async (scene) => {
      const at = await createEditorScene(scene);
      await at.waiting(["edit", EDITOR]);
      const later = T0 + 30_001;
      await scene.beat("g1", later);
      assert.deepEqual(await at.texts(await at.claim(GATEWAY, later)), ["edit"]);
    });

    rule("can be claimed by any process if none reserved it", async (scene) => {
      const at = await createEditorScene(scene);
      await scene.take(at.editor, "edit");
      assert.deepEqual(await at.texts(await at.claim(GATEWAY)), ["edit"]);
    });

    rule("does not delay a message from another platform", async (scene) => {
      const at = await createEditorScene(scene);
      await at.waiting(["edit", EDITOR]);
      const { turn } = await scene.take(ANN, "chat", { claim: GATEWAY });
      assert.deepEqual(await at.texts(turn), ["chat"]);
      assert.equal(await at.claim(EDITOR), undefined, "one turn at a time");
      const next = (await scene.finish(requireValue(turn), "", { next: GATEWAY })).next;
      assert.equal(next, undefined);
      assert.deepEqual(await at.texts(await at.claim(EDITOR)), ["edit"]);
    });

    rule("comes before later messages, for a process that can claim it", async (scene) => {
      const at = await createEditorScene(scene);
      await at.waiting(["one", EDITOR]);
      assert.equal((await scene.take(at.editor, "two", { claim: EDITOR })).turn, undefined);
      await scene.store.runners.retire({ runner: "e1" });
      assert.equal((await scene.take(ANN, "three", { claim: GATEWAY })).turn, undefined);
      assert.deepEqual(await at.waits(), ["one", "two", "three"]);
    });

    rule(
      "is not claimable for others while its process lives, and does not hide their work",
      async (scene) => {
        const at = await createEditorScene(scene);
        const { store } = scene;
        await at.waiting(["edit", EDITOR], ["chat", GATEWAY]);
        assert.deepEqual(await store.turns.listClaimable({ now: T0 }), []);
        await store.runners.retire({ runner: "g1" });
        assert.deepEqual(await store.turns.listClaimable({ now: T0 }), [
          { session: at.session, platform: "telegram" },
        ]);
        await scene.beat("g1");
        await store.runners.retire({ runner: "e1" });
        assert.deepEqual(await store.turns.listClaimable({ now: T0 }), [
          { session: at.session, platform: "acp" },
        ]);
      },
    );
  });

  describe("a process that claims only its own messages", () => {
    rule("claims the messages that it accepted, in order, and leaves the others", async (scene) => {
      const at = await createEditorScene(scene);
      await at.waiting(["chat", GATEWAY], ["one", EDITOR], ["two", EDITOR]);
      const first = requireValue(await at.claim(OWN));
      assert.deepEqual(await at.texts(first), ["one"]);
      const second = requireValue((await scene.finish(first, "", { next: OWN })).next);
      assert.deepEqual(await at.texts(second), ["two"]);
      assert.equal((await scene.finish(second, "", { next: OWN })).next, undefined);
      assert.equal(await at.claim(OWN), undefined);
      assert.deepEqual(await at.waits(), ["chat"]);
      assert.deepEqual(await at.texts(await at.claim(GATEWAY)), ["chat"]);
    });

    rule("also leaves messages whose process has ended or is unknown", async (scene) => {
      const at = await createEditorScene(scene);
      await at.waiting(["chat", GATEWAY]);
      await scene.take(ANN, "nobody's");
      await scene.store.runners.retire({ runner: "g1" });
      assert.equal(await at.claim(OWN), undefined);
      assert.deepEqual(await at.waits(), ["chat", "nobody's"]);
    });

    rule("claims only messages of others with `own: false`", async (scene) => {
      const at = await createEditorScene(scene);
      const others = { ...EDITOR, own: false } as const;
      await at.waiting(["edit", EDITOR]);
      assert.equal(await at.claim(others), undefined);
      assert.deepEqual(await at.waits(), ["edit"]);
      await at.waiting(["chat", GATEWAY]);
      assert.deepEqual(await at.texts(await at.claim(others)), ["chat"]);
      assert.deepEqual(await at.waits(), ["edit"]);
    });

    rule("claims all of its own messages in one turn, with `take: all`", async (scene) => {
      const at = await createEditorScene(scene);
      const other = { runner: "g2", take: "all" } as const;
      await at.waiting(["a", GATEWAY], ["b", other], ["c", GATEWAY], ["edit", EDITOR]);
      assert.deepEqual(await at.texts(await at.claim({ ...GATEWAY, take: "all", own: true })), ["a", "c"]);
      assert.deepEqual(await at.waits(), ["b", "edit"]);
    });

    rule(
      "starts a turn at once for a message that it accepts, even if messages of others are pending",
      async (scene) => {
        const at = await createEditorScene(scene);
        await at.waiting(["chat", GATEWAY]);
        const { turn } = await scene.take(at.editor, "edit", { claim: OWN });
        assert.deepEqual(await at.texts(turn), ["edit"]);
        assert.equal((await scene.take(at.editor, "more", { claim: OWN })).turn, undefined);
        const next = (await scene.finish(requireValue(turn), "", { next: OWN })).next;
        assert.deepEqual(await at.texts(next), ["more"]);
        assert.deepEqual(await at.waits(), ["chat"]);
      },
    );

    rule("keeps the order of its own messages", async (scene) => {
      const at = await createEditorScene(scene);
      await at.waiting(["one", EDITOR]);
      assert.equal((await scene.take(at.editor, "two", { claim: OWN })).turn, undefined);
      assert.deepEqual(await at.texts(await at.claim(OWN)), ["one"]);
    });

    rule("takes over a crashed turn of any process, because it blocks its own messages", async (scene) => {
      const at = await createEditorScene(scene);
      const crashed = requireValue((await scene.take(ANN, "chat", { claim: GATEWAY })).turn);
      assert.equal((await scene.take(at.editor, "edit", { claim: OWN })).turn, undefined);
      assert.equal(await at.claim(OWN), undefined);
      await scene.store.runners.retire({ runner: "g1" });
      const again = requireValue(await at.claim(OWN));
      assert.deepEqual([again.number, again.attempt, again.target], [crashed.number, 2, ANN]);
      const next = (await scene.finish(again, "", { next: OWN })).next;
      assert.deepEqual(await at.texts(next), ["edit"]);
    });
  });
}

/** A session that is used in an editor and in a messenger. All processes live. */
async function createEditorScene(scene: Scene) {
  for (const id of ["e1", "e2", "g1", "g2"]) await scene.beat(id);
  const { id: session } = await scene.create(OWNER);
  const editor: Source = { platform: "acp", chatType: "dm", chatId: session };
  for (const source of [editor, ANN]) {
    if (source === ANN) await scene.open(ANN, { person: OWNER });
    const place = { source, profile: "main", scope: SCOPE_PER_USER };
    throwIfRefused(await scene.store.conversations.attach({ asker: EVERYONE, session, ...place, now: T0 }));
  }
  async function busy(...inputs: readonly (readonly [string, ClaimBy])[]): Promise<Turn> {
    const { turn } = await scene.take(ANN, "busy", { claim: GATEWAY });
    for (const [text, claim] of inputs) {
      const source = claim.runner.startsWith("e") ? editor : ANN;
      assert.equal((await scene.take(source, text, { claim })).turn, undefined);
    }
    return requireValue(turn);
  }

  return {
    session,
    editor,
    busy,
    /** Frees the session, with these messages pending, each accepted by one process. */
    async waiting(...inputs: readonly (readonly [string, ClaimBy])[]): Promise<void> {
      await scene.finish(await busy(...inputs), "");
    },
    claim: (by: ClaimBy, now = T0) => scene.store.turns.claim({ session, ...by, now }),
    /** The inputs of a turn. */
    async texts(turn: Turn | undefined): Promise<string[]> {
      const said = requireValue(await scene.store.messages.listMessages({ asker: EVERYONE, session }));
      return said.filter(({ seq }) => requireValue(turn).inputs.includes(seq)).map(getText);
    },
    waits: async () => (await scene.store.inbox.listPending({ asker: EVERYONE, session })).map(getText),
  };
}
