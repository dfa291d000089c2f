import assert from "node:assert/strict";
import { isRefused, throwIfRefused } from "../core/refusal.ts";
import {
  beginTestProcess,
  buildProcessId,
  createProcessOrigin,
  markTestProcessRunning,
} from "./process-scene.ts";
import { createRoundRule } from "./race.ts";
import { ANN, dm, HOUR, MINUTE, type Scene, type StoreRule, T0, type TestApi } from "./scene.ts";

const FOUR = ["one", "two", "three", "four"];

/** An action that two stores attempt at the same time happens once. */
export function defineOnceRules({ describe }: TestApi, rule: StoreRule): void {
  const eachRound = createRoundRule(rule);

  describe("two stores that attempt the same", () => {
    eachRound("start one new session after the reset time", async (one, two, race, round) => {
      const source = dm(`user${round}`);
      const old = await one.talk(source, "hello", "hi");
      const late = { reset: { idleBefore: T0 + 1 }, now: T0 + HOUR };
      const [first, second, third] = await race.run(
        () => one.take(source, "one", late),
        () => two.take(source, "two", late),
        () => two.open(source, late),
      );
      assert.notEqual(first.session.id, old.id);
      assert.deepEqual([second.session.id, third.session.id], [first.session.id, first.session.id]);
      assert.deepEqual(await two.shows(old.id), ["hello", "hi"]);
    });

    eachRound("accept a command once", async (one, two, race, round) => {
      const accept =
        ({ store }: Scene, runner: string) =>
        () =>
          store.inbox.acceptCommand({
            profile: "main",
            source: ANN,
            messageId: `command${round}`,
            line: "/new",
            runner,
            now: T0,
          });
      const all = await race.run(accept(one, "r1"), accept(two, "r2"), accept(two, "r2"));
      assert.deepEqual(all.map(({ duplicate }) => duplicate).toSorted(), [false, true, true]);
      assert.equal(new Set(all.map(({ inbox }) => inbox)).size, 1);
    });

    eachRound("request a memory flush once, and claim it once", async (one, two, race) => {
      const { id: session } = await one.create("p_ann", FOUR);
      const request =
        ({ store }: Scene) =>
        () =>
          store.memory.requestFlush({ session, now: T0 });
      const requested = await race.run(request(one), request(two), request(two));
      assert.deepEqual(requested.toSorted(), [false, false, true]);
      const claim =
        ({ store }: Scene, runner: string) =>
        () =>
          store.memory.claimFlush({ runner, now: T0 });
      const claimed = await race.run(claim(one, "r1"), claim(two, "r2"), claim(two, "r2"));
      assert.deepEqual(
        claimed.flatMap((flush) => (flush === undefined ? [] : [flush.session])),
        [session],
      );
    });

    eachRound("report on a process once", async (one, two, race, round) => {
      const origin = await createProcessOrigin(one);
      const id = buildProcessId(round);
      throwIfRefused(await beginTestProcess(one, origin, { id }));
      await markTestProcessRunning(one, id);
      const before = { upTo: 0, matches: 0, end: false };
      const processReport = { process: id, before, upTo: 5, matches: 0, end: false };
      const deliveries = [{ target: ANN, parts: [{ type: "text" as const, text: "it runs" }] }];
      const report =
        ({ store }: Scene, runner: string) =>
        () =>
          store.outbox.enqueue({ deliveries, runner, session: origin.session, processReport, now: T0 });
      const reported = await race.run(report(one, "r1"), report(two, "r2"), report(two, "r2"));
      assert.equal(reported.flatMap((it) => it.deliveries).length, 1);
    });

    eachRound("answer an approval request once", async (one, two, race) => {
      const turn = await one.begin(ANN, "tidy up");
      const { number, fence } = turn;
      const request = { title: "Remove a folder", detail: "rm -r build", pattern: "rm -r *" };
      const asked = throwIfRefused(
        await one.store.access.createApproval({
          turn: number,
          fence,
          request,
          deadline: T0 + MINUTE,
          now: T0,
        }),
      );
      const { owner: person } = await one.get(turn.session);
      const answer =
        ({ store }: Scene, given: "once" | "deny") =>
        () =>
          store.access.answerApproval({ person, approval: asked.number, answer: given, now: T0 });
      const answers = await race.run(answer(one, "once"), answer(two, "deny"));
      assert.equal(answers.filter((it) => !isRefused(it)).length, 1);
      await one.finish(turn, "done");
    });

    eachRound("redeem a code once", async (one, two, race, round) => {
      const code = { platform: "telegram", salt: "s", hash: `h${round}`, expiresAt: T0 + HOUR };
      const asked = await one.store.access.requestPairing({
        ...code,
        asker: dm(`user${round}`),
        everyMs: 0,
        maxPending: 3,
        now: T0,
      });
      assert.ok(asked.state === "asked");
      const { number: pairing } = asked;
      const redeem =
        ({ store }: Scene) =>
        () =>
          store.access.redeemPairing({ pairing, now: T0 });
      const redeemed = await race.run(redeem(one), redeem(two), redeem(two));
      assert.equal(redeemed.filter((it) => !isRefused(it)).length, 1);
    });
  });
}
