import { beforeAll, describe, expect, it } from "vitest";
import { REPEATED_MARK } from "../src/core/repetition.ts";
import type { Witnessed } from "./gateway/protocol.ts";
import { driveMembers, type MembersReport } from "./postgres-chaos/drive.ts";
import { countKinds, KINDS, planMoments } from "./postgres-chaos/moments.ts";
import { replaceTimes, SHORTENED } from "./postgres-chaos/short-times.ts";
import {
  type Evidence,
  judgeMembers,
  type MembersVerdict,
  type TurnEvent,
} from "./postgres-chaos/verdict.ts";
import { temporaryFolder } from "./support/folder.ts";
import { seeded } from "./support/random.ts";
import { schedule } from "./support/schedule.ts";

const SEED = 20_261_118;
const MOMENTS = schedule(3, 20);
const PEOPLE = schedule(30, 200);

describe.runIf(process.platform === "linux")(
  "three gateways on one PostgreSQL that crash, hang and are cut off",
  () => {
    let report: MembersReport;

    beforeAll(async () => {
      const folder = temporaryFolder();
      report = await driveMembers({ folder: folder.path, seed: SEED, moments: MOMENTS, people: PEOPLE });
      const { said, answered, told, refused, repeatedWithMark, lateSends, connections } = report;
      console.log(
        `seed ${SEED}: ${countKinds(report.moments)}; texts ${said}, answered ${answered}, told ${told}, stale ends refused ${refused}, repeated with mark ${repeatedWithMark.length}, sent late ${lateSends.length}, connections ${connections}`,
      );
      return () => folder.remove();
    }, 300_000);

    it("meet all moments, and overcome them without a restart", () => {
      expect(report.errors).toEqual([]);
      expect(report.moments).toHaveLength(MOMENTS);
      expect(report.inFlight).toBeGreaterThan(MOMENTS / 5);
    });

    it("lose no message, and send no answer to another person", () => {
      expect([report.lost, report.crossed]).toEqual([[], []]);
      expect(report.answered + report.told).toBe(report.said);
    });

    it("repeat nothing without a mark, and no outside effect", () => {
      expect([report.repeated, report.doneTwice]).toEqual([[], []]);
    });

    it("store nothing for a turn that another gateway has taken over", () => {
      expect(report.staleWrites).toEqual([]);
      expect(report.refused).toBeGreaterThan(0);
    });
  },
);

describe("the plan of the moments", () => {
  it("has every kind in proportion, and ten stops before the end of a turn in a hundred moments", () => {
    const planned = planMoments(100, seeded(1));
    expect(planned).toHaveLength(100);
    expect(new Set(planned)).toEqual(new Set(KINDS));
    expect(planned.filter((kind) => kind === "stop before finish").length).toBeGreaterThanOrEqual(10);
    expect(planMoments(100, seeded(1))).toEqual(planned);
    expect(planMoments(3, seeded(1))).toHaveLength(3);
  });

  it("refuses to shorten a time that has changed", () => {
    expect(replaceTimes("export const A_MS = 30_000;", { A_MS: 30_000 })).toBe(
      `export const A_MS = ${30_000 / SHORTENED};`,
    );
    expect(() => replaceTimes("const A_MS = 20_000;", { A_MS: 30_000 })).toThrow("A_MS is not 30000");
    expect(() => replaceTimes("", { A_MS: 30_000 })).toThrow("A_MS is not 30000");
  });
});

// A check that cannot fail proves nothing.
describe("the check of gateways on PostgreSQL", () => {
  const said = (seq: number, text: string, person = "ann"): Witnessed => ({
    seq,
    at: seq,
    kind: "said",
    chat: `dm-${person}`,
    type: "dm",
    person,
    messageId: String(seq),
    text,
  });
  const sent = (seq: number, text: string, { chat = "dm-ann", nonce = `n${seq}` } = {}): Witnessed => ({
    seq,
    at: seq,
    kind: "sent",
    chat,
    messageId: String(seq),
    members: [],
    nonce,
    text,
  });
  const effect = (seq: number): Witnessed => ({ seq, at: seq, kind: "effect", name: "letter" });
  const talk = [said(1, "[a-1]"), sent(2, "to [a-1]")];
  const marked = (seq: number, nonce?: string): Witnessed =>
    sent(seq, `${REPEATED_MARK}\nto [a-1]`, { ...(nonce !== undefined && { nonce }) });
  const judge = (
    more: readonly Witnessed[],
    {
      outbound = "unknowable",
      turns = [],
      interruptedSends = [],
    }: Partial<Omit<Evidence, "messengers">> & {
      readonly outbound?: Evidence["messengers"][number]["outbound"];
    } = {},
    first: readonly Witnessed[] = talk,
  ): MembersVerdict =>
    judgeMembers({
      messengers: [{ name: "m", outbound, witnessed: [...first, ...more] }],
      turns,
      interruptedSends,
    });
  const turn = (member: string, state: TurnEvent["state"], fence: number): TurnEvent => ({
    member,
    turn: 7,
    fence,
    state,
  });

  it("accepts a correct run", () => {
    const turns = [
      turn("one", "started", 1),
      turn("two", "started", 2),
      turn("one", "refused", 1),
      turn("two", "finished", 2),
    ];
    const verdict = judge([said(3, "[a-2]"), sent(4, "⚠ …, so it was not tried again."), effect(5)], {
      turns,
    });
    expect(verdict).toMatchObject({ said: 2, answered: 1, told: 1, refused: 1 });
    const { lost, crossed, repeated, repeatedWithMark, lateSends, doneTwice, staleWrites } = verdict;
    expect([lost, crossed, repeated, repeatedWithMark, lateSends, doneTwice, staleWrites].flat()).toEqual([]);
  });

  it.each<[keyof MembersVerdict, string, readonly Witnessed[]]>([
    ["lost", "a text without an answer", [said(3, "[a-2]")]],
    ["crossed", "an answer in another chat", [sent(3, "to [a-1]", { chat: "dm-bob" })]],
    ["crossed", "an answer to a text of another messenger", [sent(3, "to [b-1]")]],
    ["repeated", "a repeated answer", [sent(3, "to [a-1]")]],
    ["repeated", "a third copy without a mark", [marked(3), sent(4, "to [a-1]")]],
    [
      "repeated",
      "a repeated part of an answer",
      [sent(3, "xxx", { nonce: "n" }), sent(4, "xxx", { nonce: "n" })],
    ],
    ["repeatedWithMark", "a repeated answer with a mark", [marked(3)]],
    ["doneTwice", "an errand twice", [effect(3), effect(4)]],
  ])("detects: %s, %s", (kind, _, more) => {
    expect(judge(more)[kind]).not.toEqual([]);
  });

  it.each(["idempotent", "can_be_looked_up"] as const)(
    "detects a marked repetition where sending is %s",
    (outbound) => {
      expect(judge([marked(3)], { outbound }).repeated).toHaveLength(1);
    },
  );

  it("detects an answer without a mark after one with a mark, unless a stopped gateway sent it late", () => {
    const copies = [marked(2), sent(3, "to [a-1]")];
    const late = { interruptedSends: [{ nonce: "n3", continuedAt: 3 }] };
    expect(judge(copies, {}, [said(1, "[a-1]")]).repeated).toHaveLength(1);
    expect(judge(copies, late, [said(1, "[a-1]")])).toMatchObject({
      repeated: [],
      lateSends: [expect.anything()],
    });
  });

  it("excuses only a send that had begun before the stop and arrived after it", () => {
    const late = (continuedAt: number, nonce = "n3") =>
      judge([sent(3, "to [a-1]")], {
        outbound: "can_be_looked_up",
        interruptedSends: [{ nonce, continuedAt }],
      });
    expect([late(3).repeated.length, late(3).lateSends.length]).toEqual([0, 1]);
    expect(late(4).repeated).toHaveLength(1);
    expect(late(3, "n9").repeated).toHaveLength(1);
  });

  it("detects the end of a turn by a gateway that had lost it", () => {
    const lost = [turn("one", "started", 1), turn("two", "started", 2)];
    expect(judge([], { turns: [...lost, turn("one", "finished", 1)] }).staleWrites).toEqual([
      "one ended turn 7, which two had taken over",
    ]);
    const reportedLate = [turn("two", "started", 2), turn("one", "started", 1), turn("two", "finished", 2)];
    expect(judge([], { turns: reportedLate }).staleWrites).toEqual([]);
    const regained = [...lost, turn("one", "started", 3), turn("one", "finished", 3)];
    expect(judge([], { turns: regained }).staleWrites).toEqual([]);
  });
});
