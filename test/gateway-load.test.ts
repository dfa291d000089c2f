import { beforeAll, describe, expect, it } from "vitest";
import { REPEATED_MARK } from "../src/core/repetition.ts";
import { driveLoad, type LoadReport } from "./gateway/load.ts";
import type { Witnessed } from "./gateway/protocol.ts";
import { type Verdict, verdictOn } from "./gateway/verdict.ts";
import { temporaryFolder } from "./support/folder.ts";
import { schedule } from "./support/schedule.ts";

const SEED = 20_260_311;
const PEOPLE = 50;

describe.each([
  ["unknowable", schedule(3, 20)],
  ["idempotent", schedule(2, 10)],
] as const)(
  "a gateway for fifty people that is killed repeatedly, on a platform where sending is %s",
  (outbound, kills) => {
    let report: LoadReport;

    beforeAll(async () => {
      const folder = temporaryFolder();
      report = await driveLoad({ folder: folder.path, seed: SEED, kills, people: PEOPLE, outbound });
      const { said, answered, told, hitTurns, hitSends, repeatedWithMark, cuts, errands } = report;
      console.log(
        `seed ${SEED}: kills ${report.kills}, in a turn ${hitTurns}, in a delivery ${hitSends}; texts ${said}, answered ${answered}, told ${told.length}, repeated with mark ${repeatedWithMark.length}, in one place at most ${report.mostRepeatedInOnePlace}, cuts ${cuts}, errands ${errands}`,
      );
      return () => folder.remove();
    }, 150_000);

    it("is killed during turns, and logs no errors", () => {
      expect(report.errors).toEqual([]);
      expect(report.kills).toBe(kills);
      expect(report.hitTurns).toBeGreaterThan(kills / 3);
      expect(report.said).toBeGreaterThan(PEOPLE * 2);
      expect(report.errands).toBeGreaterThan(0);
    });

    it("loses no message: everyone gets an answer or a notice", () => {
      expect(report.lost).toEqual([]);
      expect(report.answered + report.told.length).toBe(report.said);
      expect(report.told.length).toBeLessThanOrEqual(report.hitTurns * PEOPLE);
    });

    it("sends no answer to another person", () => {
      expect(report.crossed).toEqual([]);
      expect(report.conflicts).toBe(0);
    });

    it("repeats nothing without a mark, and nothing if the platform detects duplicates", () => {
      expect(report.repeated).toEqual([]);
      // Several messages may be in progress when a process is killed: each may be repeated once.
      const most = outbound === "idempotent" ? 0 : report.leftSends + report.cuts;
      expect(report.repeatedWithMark.length).toBeLessThanOrEqual(most);
      // Within a chat one message is sent at a time: nobody sees more repetitions than kills.
      expect(report.mostRepeatedInOnePlace).toBeLessThanOrEqual(outbound === "idempotent" ? 0 : kills);
    });

    it("repeats no outside effect", () => {
      expect(report.doneTwice).toEqual([]);
    });
  },
);

// A check that cannot fail proves nothing.
describe("the check of a load run", () => {
  const ann = { chat: "dm-ann", type: "dm" as const };
  const seen = (seq: number) => ({ seq, at: seq });
  const said = (seq: number, text: string, person = "ann", chat = `dm-${person}`): Witnessed => ({
    ...seen(seq),
    kind: "said",
    chat,
    type: "dm",
    person,
    messageId: String(seq),
    text,
  });
  const sent = (seq: number, text: string, chat: string = ann.chat): Witnessed => ({
    ...seen(seq),
    kind: "sent",
    chat,
    messageId: String(seq),
    members: [],
    nonce: `n${seq}`,
    text,
  });
  const edited = (seq: number, messageId: string, text: string): Witnessed => ({
    ...seen(seq),
    kind: "edited",
    chat: ann.chat,
    messageId,
    text,
  });
  const effect = (seq: number): Witnessed => ({ ...seen(seq), kind: "effect", name: "letter" });
  const talk = [
    said(1, "[a-1]"),
    said(2, "[b-1]", "bob"),
    sent(3, "to [a-1]"),
    sent(4, "to [b-1]", "dm-bob"),
  ];

  it("accepts a correct run", () => {
    const told = [said(5, "[a-2]"), sent(6, "⚠ …, so it was not tried again.")];
    const draft = [said(7, "[a-3]"), sent(8, "to [a-3] …"), edited(9, "8", "to [a-3]")];
    const verdict = verdictOn([...talk, ...told, ...draft, effect(10)]);
    expect(verdict).toMatchObject({ said: 4, answered: 3, told: ["[a-2]"], errands: 1 });
    const { lost, crossed, repeated, repeatedWithMark, doneTwice } = verdict;
    expect([...lost, ...crossed, ...repeated, ...repeatedWithMark, ...doneTwice]).toEqual([]);
  });

  it.each<[keyof Verdict, string, readonly Witnessed[]]>([
    ["lost", "a text without an answer", [said(5, "[a-2]")]],
    ["lost", "a draft that lost its answer", [said(5, "[a-2]"), sent(6, "to [a-2]"), edited(7, "6", "oops")]],
    [
      "lost",
      "a text before another that was answered, and then a notice",
      [said(500, "[a-2]"), said(900, "[a-3]"), sent(901, "to [a-3]"), sent(902, "so it was not tried again")],
    ],
    [
      "lost",
      "a notice to another person",
      [said(5, "[a-2]"), sent(6, "so it was not tried again", "dm-bob")],
    ],
    ["crossed", "an answer in another chat", [sent(5, "to [b-1]")]],
    ["crossed", "an answer to an unknown text", [sent(5, "to [c-1]")]],
    ["crossed", "a draft that was corrected", [sent(5, "to [b-1]"), edited(6, "5", "to [a-1]")]],
    ["repeated", "a repeated answer", [sent(5, "to [a-1]")]],
    ["repeatedWithMark", "an answer twice, marked", [sent(5, `${REPEATED_MARK}\nto [a-1]`)]],
    ["doneTwice", "an errand twice", [effect(5), effect(6)]],
  ])("detects: %s, %s", (kind, _, more) => {
    expect(verdictOn([...talk, ...more])[kind]).not.toEqual([]);
  });
});
