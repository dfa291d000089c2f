import assert from "node:assert/strict";
import { textPart } from "../core/message.ts";
import { throwIfRefused } from "../core/refusal.ts";
import type { Source } from "../core/source.ts";
import type { Turn } from "../core/turn.ts";
import {
  ANN,
  assertRefused,
  BOB,
  EVERYONE,
  inGroup,
  requireValue,
  SCOPE_SHARED,
  type Scene,
  type StoreRule,
  T0,
  type TestApi,
  user,
} from "./scene.ts";

const HASH = "ab".repeat(32);
const SHARED = "cd".repeat(32);

/** The guess counters of Ann, and of another person whose id has the same end. */
const GUESSES = ["telegram:ann", "link:telegram:ann", "link:telegram:joann"];

function createImagePart(blob: string) {
  return { type: "image" as const, blob, mimeType: "image/png", size: 3 };
}

/** Export and erasure of a person's data. */
export function definePersonRules({ describe }: TestApi, rule: StoreRule): void {
  describe("a person's data", () => {
    rule("is found by id and by account, and counted", async (scene) => {
      const { ann } = await createPeople(scene);
      const data = requireValue(await scene.store.access.readPersonData({ person: ann }));
      assert.deepEqual(
        await scene.store.access.readPersonData({ platform: "telegram", account: "ann" }),
        data,
      );
      assert.deepEqual(
        data.accounts.map(({ platform, id }) => [platform, id]),
        [["telegram", "ann"]],
      );
      assert.deepEqual(data.counts, {
        accounts: 1,
        sessions: 2,
        messages: 4,
        elsewhere: 2,
        attachments: 2,
        conversations: 1,
        decisions: 1,
        inbox: 2,
        turns: 3,
        deliveries: 2,
        processes: 0,
        pairings: 1,
        approvals: 2,
        allowed: 1,
        memories: 0,
      });
      assert.equal(data.role, "member");
      assert.deepEqual(
        data.approvals.map(({ answer }) => answer),
        ["always", "deny"],
      );
      assert.deepEqual(data.allowed, [{ pattern: "annwords *", at: T0 }]);
      assert.deepEqual(data.pairings, [{ platform: "telegram", asker: ANN, askedAt: T0, expiresAt: T0 + 1 }]);
      assert.deepEqual(
        data.elsewhere.map(({ parts: [part] }) => part),
        [textPart("annwords in the group"), textPart("annwords again")],
      );
      assert.equal(data.inbox.filter(({ state }) => state === "waiting").length, 1);
      for (const nobody of [{ person: "p_nobody" }, { platform: "telegram", account: "nobody" }])
        assert.equal(await scene.store.access.readPersonData(nobody), undefined);
    });

    rule("is deleted by an erasure in steps of any size, and only theirs", async (scene) => {
      const { ann, bob, shared, bobs } = await createPeople(scene);
      const before = await scene.shows(bobs);
      await erase(scene, ann, 1);
      assert.equal(await scene.store.access.readPersonData({ person: ann }), undefined);
      assert.equal(
        await scene.store.access.readPersonData({ platform: "telegram", account: "ann" }),
        undefined,
      );
      assert.deepEqual((await scene.store.sessions.querySessions({ asker: { person: ann } })).items, []);
      assert.deepEqual(
        await scene.store.messages.searchMessages({ asker: EVERYONE, text: "annwords", undone: true }),
        [],
      );
      assert.equal(await scene.store.messages.readBlob({ asker: EVERYONE, hash: HASH }), undefined);

      const { store } = scene;
      assert.deepEqual(await store.access.listGrants(), []);
      assert.deepEqual(await store.access.listPairings({ now: T0 }), []);
      assert.deepEqual(await store.conversations.listHomeChannels(), []);
      for (let approval = 1; approval < 9; approval += 1) {
        const left = await store.access.getApproval({ asker: EVERYONE, approval });
        assert.ok(left === undefined || left.person === bob);
      }
      const pattern = "annwords *";
      assert.equal(
        await store.access.checkApprovalRules({ person: ann, session: shared, pattern }),
        undefined,
      );
      for (const name of GUESSES) {
        const counted = await store.access.countGuess({ name, maxGuesses: 1, lockMs: 1, now: T0 });
        assert.equal(counted.allowed, !name.includes("joann"), name);
      }
      assert.equal(requireValue(await store.access.readPersonData({ person: bob })).counts.approvals, 1);

      assert.deepEqual(await scene.shows(bobs), before);
      assert.ok(
        (await scene.store.messages.readBlob({ asker: EVERYONE, hash: SHARED })) !== undefined,
        "Bob sent it too",
      );
      assert.equal(
        requireValue(await scene.store.access.readPersonData({ person: bob })).counts.elsewhere,
        1,
      );
      // Rows and seqs stay, texts do not.
      const said = requireValue(
        await scene.store.messages.listMessages({ asker: EVERYONE, session: shared }),
      );
      assert.deepEqual(
        said.map(({ seq, role, parts }) => [seq, role, parts.length]),
        [
          [1, "user", 0],
          [2, "assistant", 0],
          [3, "user", 1],
          [4, "assistant", 1],
          [5, "user", 0],
          [6, "assistant", 0],
        ],
      );
      assert.ok(said.filter(({ parts }) => parts.length === 0).every(({ origin }) => origin === undefined));
      assert.deepEqual(await scene.shows(shared), ["", "", "bobwords in the group", "to Bob", "", ""]);
      assert.equal((await scene.get(shared)).title, undefined);
    });

    rule("is also deleted from forks of removed sessions", async (scene) => {
      const { id } = await scene.create("p_ann", ["annwords", "an answer"]);
      const fork = await scene.fork(id);
      throwIfRefused(
        await scene.store.messages.append({
          asker: EVERYONE,
          session: fork.id,
          messages: [user("own")],
          now: T0,
        }),
      );
      await scene.store.sessions.remove({ asker: EVERYONE, session: id, now: T0 });
      assert.deepEqual(await scene.shows(fork.id), ["annwords", "an answer", "own"]);
      await erase(scene, "p_ann", 100);
      assert.deepEqual(await scene.store.sessions.find({ asker: EVERYONE, text: fork.id }), []);
      assert.deepEqual(await scene.store.messages.searchMessages({ asker: EVERYONE, text: "annwords" }), []);
    });

    rule("is deleted completely after an interrupted erasure and new messages", async (scene) => {
      const { ann } = await createPeople(scene);
      assert.deepEqual(throwIfRefused(await runEraseStep(scene, ann, 1)), { done: false });
      await scene.reopen();
      await scene.talk(ANN, "annwords once more", "answer");
      await erase(scene, ann, 3);
      assert.deepEqual(await scene.store.messages.searchMessages({ asker: EVERYONE, text: "annwords" }), []);
      assert.equal(await scene.store.access.readPersonData({ person: ann }), undefined);
      // A new message creates a new person.
      const { conversation } = await scene.take(ANN, "hello");
      assert.notEqual(conversation.person, ann);
    });

    rule(
      "is found in a group through its turn, if the message does not contain its sender",
      async (scene) => {
        const inside = { scope: SCOPE_SHARED };
        await scene.talk(inGroup("bob"), "bobwords", "to Bob", inside);
        const { id } = await scene.talk(inGroup("ann"), "annwords", "to Ann", inside);
        await scene.talk(inGroup("bob"), "more bobwords", "to Bob", inside);
        const ann = requireValue(
          await scene.store.access.readPersonData({ platform: "telegram", account: "ann" }),
        );
        assert.equal(ann.counts.elsewhere, 1);
        await erase(scene, ann.person, 10);
        assert.deepEqual(await scene.shows(id), ["bobwords", "to Bob", "", "", "more bobwords", "to Bob"]);
        assert.ok(!JSON.stringify(await scene.get(id)).includes("ann"));
      },
    );

    rule("is not erased while a turn for them runs", async (scene) => {
      const turn = await scene.begin(ANN, "annwords");
      const ann = (await scene.get(turn.session)).owner;
      assertRefused(await runEraseStep(scene, ann, 10), "session_busy");
      assert.deepEqual(await scene.shows(turn.session), ["annwords"]);
      await scene.finish(turn, "answer");
      await erase(scene, ann, 10);
      assertRefused(await runEraseStep(scene, ann, 10), "not_found");
    });

    rule("that is pending in a group is not answered any more, and messages of others are", async (scene) => {
      const inside = { scope: SCOPE_SHARED };
      await scene.take(inGroup("ann"), "annwords", inside);
      const { session } = await scene.take(inGroup("bob"), "bobwords", inside);
      const ann = requireValue(
        await scene.store.access.readPersonData({ platform: "telegram", account: "ann" }),
      ).person;
      await erase(scene, ann, 10);
      const turn = requireValue(await scene.claim(session.id));
      assert.equal(turn.target.userId, "bob");
      assert.deepEqual(await scene.shows(session.id), ["bobwords"]);
      await scene.finish(turn, "answer");
      assert.equal(await scene.claim(session.id), undefined);
    });
  });
}

function runEraseStep({ store }: Scene, person: string, limit: number, after?: number) {
  return store.access.erasePerson({ person, limit, now: T0, ...(after !== undefined && { after }) });
}

async function erase(scene: Scene, person: string, limit: number): Promise<void> {
  let after: number | undefined;
  for (let steps = 0; steps < 100; steps += 1) {
    const erased = throwIfRefused(await runEraseStep(scene, person, limit, after));
    if (erased.done) return;
    after = erased.after;
  }
  assert.fail("the erasure does not end");
}

/** Ann and Bob have direct chats and share a session in a group; Ann also has another session. */
async function createPeople(scene: Scene) {
  const { store, begin, finish, get } = scene;
  const approve = async (turn: Turn, answer: "always" | "deny"): Promise<void> => {
    const { number: approval, person } = throwIfRefused(
      await store.access.createApproval({
        turn: turn.number,
        fence: turn.fence,
        request: { title: `look at ${turn.target.userId}words`, pattern: `${turn.target.userId}words *` },
        deadline: T0 + 1,
        now: T0,
      }),
    );
    throwIfRefused(await store.access.answerApproval({ person, approval, answer, now: T0 }));
  };
  const alone = async (source: Source, name: string): Promise<string> => {
    const message = {
      ...user(`${name}words alone`),
      parts: [textPart(`${name}words alone`), createImagePart(SHARED)],
    };
    const turn = await begin(source, "", {
      message,
      blobs: [{ hash: SHARED, bytes: new Uint8Array([1, 2, 3]) }],
    });
    if (name === "ann") await approve(turn, "always");
    const parts = [textPart(`answer to ${name}words`)];
    await finish(turn, `answer to ${name}words`, { deliveries: [{ target: source, parts }] });
    return turn.session;
  };
  const private_ = await alone(ANN, "ann");
  const bobs = await alone(BOB, "bob");
  const ann = (await get(private_)).owner;
  const bob = (await get(bobs)).owner;
  await store.access.setRole({ person: ann, role: "member", now: T0 });
  const code = { platform: "telegram", salt: "s", hash: "h", everyMs: 1, maxPending: 1 };
  await store.access.requestPairing({ ...code, asker: ANN, expiresAt: T0 + 1, now: T0 });
  for (const name of GUESSES) await store.access.countGuess({ name, maxGuesses: 1, lockMs: 1, now: T0 });
  await store.conversations.setHomeChannel({
    home: { platform: "telegram", chatId: "ann", name: "annwords" },
    now: T0,
  });
  await scene.create(ann, ["annwords of her own", "indeed annwords"], { title: "annwords" });

  const inside = { scope: SCOPE_SHARED };
  const said = async (name: string, words: string, answer: string): Promise<string> => {
    const source = inGroup(name);
    const message = {
      ...user(words),
      origin: { platform: "telegram", userId: name, userName: name },
      ...(words.includes("again") && { parts: [textPart(words), createImagePart(HASH)] }),
    };
    const blobs = [{ hash: HASH, bytes: new Uint8Array([3, 2, 1]) }];
    const turn = await begin(source, "", { ...inside, message, ...(words.includes("again") && { blobs }) });
    if (!words.includes("again")) await approve(turn, "deny");
    const deliveries =
      name === "ann" && words.includes("again") ? [] : [{ target: source, parts: [textPart(answer)] }];
    await finish(turn, answer, { deliveries });
    return turn.session;
  };
  const shared = await said("ann", "annwords in the group", "to Ann: annwords");
  throwIfRefused(
    await store.sessions.setTitle({ asker: EVERYONE, session: shared, title: "annwords in the group" }),
  );
  await said("bob", "bobwords in the group", "to Bob");
  await said("ann", "annwords again", "annwords, yes");
  await scene.take(inGroup("ann"), "annwords that wait", inside);
  return { ann, bob, shared, bobs };
}
