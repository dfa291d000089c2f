import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, describe, expect, it } from "vitest";
import { promptIn } from "./acp-kill/conversation.ts";
import { driveEditorKills, type EditorKillReport } from "./acp-kill/drive.ts";
import { type Findings, hold } from "./acp-kill/judge.ts";
import { checkEffects, checkStored } from "./acp-kill/stored.ts";
import type { Update } from "./acp-kill/wire.ts";
import { temporaryFolder } from "./support/folder.ts";
import { isProof, schedule } from "./support/schedule.ts";

const SEED = 20_261_105;
const [KILLS, TURNS] = schedule([8, 6], [30, 20]);

describe(`postrider acp, killed ${KILLS} times in a conversation of ${TURNS} turns (seed ${SEED})`, () => {
  let report: EditorKillReport;
  let folder: string;

  beforeAll(async () => {
    const temporary = temporaryFolder();
    folder = temporary.path;
    const plan = { folder, seed: SEED, kills: KILLS, turns: TURNS, together: 0.1 };
    report = await driveEditorKills(plan);
    const { kills, inFlight, prompts, answered, effects, rounds } = report;
    console.log(
      `seed ${SEED}: kills ${kills}, in flight ${inFlight}, prompts ${prompts}, answered ${answered}, effects ${effects}`,
      rounds,
    );
    return () => temporary.remove();
  }, 240_000);

  it("is mostly killed during an answer, writes only the protocol to stdout, and finally answers everything", () => {
    expect(report.errors).toEqual([]);
    expect(report.kills).toBe(KILLS);
    expect(report.inFlight).toBeGreaterThanOrEqual(schedule(3, 20));
    expect(report.answered).toBeGreaterThanOrEqual(TURNS);
    expect(report.prompts).toBeGreaterThanOrEqual(report.answered + report.inFlight);
  });

  it("shows after each kill everything it had shown, in order, with the same ids, and partial answers", () => {
    expect(report.lost).toEqual([]);
  });

  it("shows nothing twice, runs no tool twice, and replays nothing on resume", () => {
    expect(report.doubled).toEqual([]);
    expect(report.effects).toBeGreaterThan(TURNS);
  });

  it("shows only real text, marks interrupted answers, and stores what it shows", () => {
    expect(report.broken).toEqual([]);
  });

  // A judge must detect each of these errors. Only a long run has the data for all of them.
  type Harm = (replay: Update[], at: Places) => Update[];
  const without =
    (index: number): Harm =>
    (replay) =>
      replay.filter((_, at) => at !== index);
  const changed =
    (index: number, change: (update: Update) => Update): Harm =>
    (replay) =>
      replay.map((update, at) => (at === index ? change(update) : update));
  const repeated =
    (index: number): Harm =>
    (replay) =>
      replay.flatMap((update, at) => (at === index ? [update, update] : [update]));
  const at =
    (find: (places: Places) => number, harm: (index: number) => Harm): Harm =>
    (replay, places) =>
      harm(find(places))(replay, places);
  const worded =
    (words: (text: string) => string): ((update: Update) => Update) =>
    (update) => ({ ...update, content: { type: "text", text: words(textIn(update)) } });

  it.runIf(isProof).each<[keyof Findings, string, Harm]>([
    ["lost", "a prompt", at(({ whole }) => whole, without)],
    ["lost", "text of an answer", at(({ text }) => text, without)],
    ["lost", "a thought", at(({ thought }) => thought, without)],
    ["lost", "a plan", at(({ plan }) => plan, without)],
    ["lost", "a call", at(({ call }) => call, without)],
    [
      "lost",
      "the end of a text",
      at(
        ({ text }) => text,
        (index) =>
          changed(
            index,
            worded((text) => text.slice(0, -3)),
          ),
      ),
    ],
    [
      "lost",
      "an interrupted answer",
      (replay, { stopped, next }) => replay.toSpliced(stopped, next - stopped),
    ],
    ["lost", "everything", () => []],
    ["doubled", "a prompt", at(({ whole }) => whole, repeated)],
    ["doubled", "text", at(({ text }) => text, repeated)],
    ["doubled", "a call", at(({ call }) => call, repeated)],
    [
      "broken",
      "an invented prompt",
      at(
        ({ whole }) => whole,
        (index) =>
          changed(
            index,
            worded(() => "prompt 999, please"),
          ),
      ),
    ],
    [
      "broken",
      "invented text",
      at(
        ({ text }) => text,
        (index) =>
          changed(
            index,
            worded((text) => `${text}and`),
          ),
      ),
    ],
    [
      "broken",
      "changed text",
      at(
        ({ text }) => text,
        (index) =>
          changed(
            index,
            worded((text) => text.replace(" ", "  ")),
          ),
      ),
    ],
    [
      "broken",
      "a changed plan",
      at(
        ({ plan }) => plan,
        (index) => changed(index, (update) => ({ ...update, entries: [] })),
      ),
    ],
    [
      "broken",
      "a call that is still in progress",
      at(
        ({ call }) => call,
        (index) => changed(index, (update) => ({ ...update, status: "in_progress" })),
      ),
    ],
    [
      "broken",
      "a call with another result",
      at(
        ({ call }) => call,
        (index) => changed(index, (update) => ({ ...update, rawOutput: "something" })),
      ),
    ],
    [
      "lost",
      "a message with another id",
      at(
        ({ text }) => text,
        (index) => changed(index, (update) => ({ ...update, messageId: "other" })),
      ),
    ],
    ["broken", "a missing mark", at(({ end }) => end, without)],
    [
      "broken",
      "two prompts in another order",
      (replay, { second }) => [...replay.slice(second), ...replay.slice(0, second)],
    ],
  ])("is judged by a check that detects: %s, %s", (kind, _, harm) => {
    const { last, witness } = report;
    expect(hold(last, witness)[kind]).toEqual([]);
    expect(hold(harm([...last], placesIn(last, witness.answered)), witness)[kind]).not.toEqual([]);
  });

  it("is judged by a check that detects tools that ran twice, without a card, or not at all", () => {
    const { last, witness } = report;
    const prompts = [...witness.prompts.values()];
    const told = prompts.find(({ number }) => witness.answered.has(number))?.effects ?? [];
    const untold = prompts.find(({ number }) => !witness.typed.has(number))?.effects ?? [];
    const done = (...labels: string[]): Findings => {
      const effects = join(folder, "other-effects.txt");
      writeFileSync(effects, labels.map((label) => `${label}\n`).join(""));
      const findings: Findings = { lost: [], doubled: [], broken: [] };
      checkEffects({ prompts, effects }, last, findings);
      return findings;
    };
    expect(done(...told, ...told).doubled).not.toEqual([]);
    expect(done(...untold).broken).not.toEqual([]);
    expect(done("0.1").broken).not.toEqual([]);
    expect(done().lost).not.toEqual([]);
  });

  it("is judged by a check that detects different output of other commands", () => {
    const findings: Findings = { lost: [], doubled: [], broken: [] };
    checkStored('{"messages":[]}', report.last, findings);
    expect(findings.broken).not.toEqual([]);
  });
});

interface Places {
  readonly second: number;
  /** The prompt of a complete answer with all kinds of parts. */
  readonly whole: number;
  readonly text: number;
  readonly thought: number;
  readonly plan: number;
  readonly call: number;
  /** The prompt of an answer that was interrupted after some text, and the next prompt. */
  readonly stopped: number;
  readonly next: number;
  readonly end: number;
}

function placesIn(replay: readonly Update[], answered: ReadonlySet<number>): Places {
  const starts = replay.flatMap(({ sessionUpdate }, at) =>
    sessionUpdate === "user_message_chunk" ? [at] : [],
  );
  const blocks = starts.map((start, at) => ({ start, end: starts[at + 1] ?? replay.length }));
  const inside = ({ start, end }: { start: number; end: number }, kind: string): number =>
    replay.findIndex(({ sessionUpdate }, at) => at > start && at < end && sessionUpdate === kind);
  const kinds = ["agent_message_chunk", "agent_thought_chunk", "plan", "tool_call"];
  const whole = blocks.find(
    (block) =>
      answered.has(promptIn(textIn(replay[block.start])) ?? 0) &&
      kinds.every((kind) => inside(block, kind) >= 0),
  );
  const stopped = blocks.find(
    ({ start, end }) => end - start > 3 && String(replay[end - 1]?.messageId).endsWith(":end"),
  );
  if (whole === undefined || stopped === undefined) throw new Error("there is nothing to harm");
  const [text, thought, plan, call] = kinds.map((kind) => inside(whole, kind));
  if (text === undefined || thought === undefined || plan === undefined || call === undefined)
    throw new Error("an answer has not everything");
  const { start, end } = stopped;
  return {
    second: starts[1] ?? 0,
    whole: whole.start,
    text,
    thought,
    plan,
    call,
    stopped: start,
    next: end,
    end: end - 1,
  };
}

function textIn(update: Update | undefined): string {
  const { text } = (update?.content ?? {}) as { readonly text?: string };
  return text ?? "";
}
