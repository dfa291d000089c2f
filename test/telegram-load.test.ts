import { beforeAll, describe, expect, it } from "vitest";
import { REPEATED_MARK } from "../src/core/repetition.ts";
import type { ChatMessage } from "../src/testing/fake-telegram/index.ts";
import { temporaryFolder } from "./support/folder.ts";
import { schedule } from "./support/schedule.ts";
import { driveTelegramLoad, type TelegramLoadReport } from "./telegram-gateway/load.ts";
import { type Verdict, verdictOn } from "./telegram-gateway/verdict.ts";

const SEED = 20_260_502;
const PEOPLE = 40;
const [MESSAGES, KILLS] = schedule([200, 2], [1000, 10]);

describe("a gateway for forty people on an unreliable Telegram, killed repeatedly", () => {
  let report: TelegramLoadReport;

  beforeAll(async () => {
    const folder = temporaryFolder();
    const plan = { folder: folder.path, seed: SEED, messages: MESSAGES, people: PEOPLE, kills: KILLS };
    report = await driveTelegramLoad(plan);
    const { said, chats, answered, told, kills, hitTurns, leftSends, droppedSends, repeatedWithMark } =
      report;
    console.log(
      `seed ${SEED}: texts ${said} in ${chats} chats, answered ${answered}, told ${told}, lost ${report.lost.length}, crossed ${report.crossed.length}, repeated ${report.repeated.length}, with mark ${repeatedWithMark.length}; kills ${kills}, in a turn ${hitTurns}, sends left ${leftSends}, sends dropped ${droppedSends}; ${report.seconds} s`,
    );
    return () => folder.remove();
  }, 200_000);

  it("is killed during its work, and logs no errors", () => {
    expect(report.errors).toEqual([]);
    expect(report).toMatchObject({ kills: KILLS, chats: 30, pending: 0, said: MESSAGES + PEOPLE });
    expect(report.hitTurns + report.leftSends).toBeGreaterThan(0);
    expect(report.droppedSends).toBeGreaterThan(MESSAGES / 50);
  });

  it("loses no message: everyone gets an answer or a notice", () => {
    expect(report.lost).toEqual([]);
    expect(report.answered + report.told).toBe(report.said);
    expect(report.told).toBeLessThanOrEqual(KILLS);
  });

  it("sends no answer to another person, and none out of order", () => {
    expect(report.crossed).toEqual([]);
    expect(report.disordered).toEqual([]);
  });

  it("repeats nothing without a mark, and only messages in progress", () => {
    expect(report.repeated).toEqual([]);
    expect(report.repeatedWithMark.length).toBeLessThanOrEqual(report.leftSends + report.droppedSends);
  });
});

// A check that cannot fail proves nothing.
describe("the check of the messages in Telegram's chats", () => {
  const ann = 7;
  const message = (
    id: number,
    by: "bot" | number,
    text: string,
    more: Partial<ChatMessage> = {},
  ): ChatMessage => ({
    ...{ id, by, text, edits: [], buttons: [], files: [], at: id },
    ...more,
  });
  const talk = [
    message(1, ann, "[p1-1] hello"),
    message(2, "bot", "You said: [p1-1] hello"),
    message(3, ann, "[p1-2] hello"),
    message(4, "bot", "You said: [p1-2] hello (before that: [p1-1] hello)"),
  ];
  const group = [
    message(1, 8, "@bot [p2-1] hello"),
    message(2, 9, "@bot [p3-1] hello"),
    message(3, "bot", "You said: [p2-1] hello", { replyTo: 1 }),
    message(4, "bot", "You said: [p3-1] hello", { replyTo: 2 }),
  ];
  const judged = (more: readonly ChatMessage[], inGroup: readonly ChatMessage[] = []): Verdict =>
    verdictOn([
      { chat: ann, messages: [...talk, ...more] },
      { chat: -1, messages: [...group, ...inGroup] },
    ]);

  it("accepts a correct run", () => {
    const notice = "⚠ Postrider ended 2 times while this was being answered, so it was not tried again.";
    const { lost, crossed, repeated, repeatedWithMark, disordered, ...counts } = judged([
      message(5, ann, "[p1-3] hello"),
      message(6, "bot", notice),
    ]);
    expect([...lost, ...crossed, ...repeated, ...repeatedWithMark, ...disordered]).toEqual([]);
    expect(counts).toEqual({ said: 5, answered: 4, told: 1 });
  });

  it.each<[keyof Verdict, string, readonly ChatMessage[], (readonly ChatMessage[])?]>([
    ["lost", "a text without an answer", [message(5, ann, "[p1-3] hello")]],
    [
      "lost",
      "a text whose answer only mentions it",
      [
        message(5, ann, "[p1-3] a"),
        message(6, ann, "[p1-4] b"),
        message(7, "bot", "You said: [p1-4] b (before that: [p1-3] a)"),
      ],
    ],
    [
      "lost",
      "a text after a notice",
      [message(5, "bot", "so it was not tried again"), message(6, ann, "[p1-3] hello")],
    ],
    ["crossed", "an answer in another chat", [message(5, "bot", "You said: [p2-1] hello")]],
    ["crossed", "an answer to an unknown text", [message(5, "bot", "You said: [p9-9] hello")]],
    ["crossed", "a draft that was corrected", [message(5, "bot", "oh", { edits: ["You said: [p2-1]"] })]],
    [
      "crossed",
      "an answer in another topic",
      [],
      [message(5, "bot", "You said: [p2-1] hello", { topic: 4 })],
    ],
    [
      "crossed",
      "a reply to another person",
      [],
      [message(5, "bot", "You said: [p2-1] hello", { replyTo: 2 })],
    ],
    [
      "crossed",
      "another person's text before",
      [],
      [message(5, "bot", "You said: [p2-1] (before that: [p3-1])")],
    ],
    ["repeated", "a repeated answer", [message(5, "bot", "You said: [p1-1] hello")]],
    [
      "repeatedWithMark",
      "a repeated answer with a mark",
      [message(5, "bot", `${REPEATED_MARK}\nYou said: [p1-1]`)],
    ],
    [
      "disordered",
      "an answer before an earlier one",
      [
        message(5, ann, "[p1-3] a"),
        message(6, ann, "[p1-4] b"),
        message(7, "bot", "You said: [p1-4] b"),
        message(8, "bot", "You said: [p1-3] a"),
      ],
    ],
  ])("detects: %s, %s", (kind, _, more, inGroup = []) => {
    expect(judged(more, inGroup)[kind]).not.toEqual([]);
  });
});
