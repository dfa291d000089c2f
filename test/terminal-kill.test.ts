import { beforeAll, describe, expect, it } from "vitest";
import { copyDamaged } from "./support/copy-damaged.ts";
import { temporaryFolder } from "./support/folder.ts";
import { schedule } from "./support/schedule.ts";
import { checkLines, type LineFindings, type Printed } from "./terminal-kill/checker.ts";
import { driveTerminalKills, type TerminalKillReport } from "./terminal-kill/drive.ts";

const SEED = 20_260_304;
const KILLS = schedule(4, 14);

describe("two terminal processes in one home, killed repeatedly during input", () => {
  let report: TerminalKillReport;

  beforeAll(async () => {
    const temporary = temporaryFolder();
    report = await driveTerminalKills({ folder: temporary.path, seed: SEED, kills: KILLS });
    const { kills, inFlight, lines, givenUp } = report;
    console.log(
      `seed ${SEED}: kills ${kills}, in flight ${inFlight}, lines ${lines}, given up ${givenUp.length}`,
    );
    return () => temporary.remove();
  }, 120_000);

  it("are killed during their work, and print no errors", () => {
    expect(report.errors).toEqual([]);
    expect(report.kills).toBe(KILLS);
    // With so few kills, all may miss.
    expect(report.inFlight).toBeGreaterThanOrEqual(schedule(0, 1));
    expect(report.lines).toBeGreaterThan(KILLS);
  });

  it("answer every stored line once, in order, in its session, and print only stored answers", () => {
    expect(report.lost).toEqual([]);
    expect(report.doubled).toEqual([]);
    expect(report.broken).toEqual([]);
  });

  // A check that cannot fail proves nothing: it must detect each of these errors.
  const LAST = "(select max(id) from messages where role = 1 and text <> '')";
  const copyOf = (id: string, to: string) =>
    `insert into messages (id, at, role, text) select ${to}, at, role, text from messages where id = ${id}`;
  it.each<[keyof LineFindings & ("lost" | "doubled" | "broken"), string, string]>([
    ["lost", "an answer", `delete from messages where id = ${LAST}`],
    ["lost", "a line and its answer", `delete from messages where id in (${LAST}, ${LAST} - 1)`],
    ["lost", "a line that is never answered", "update inbox set state = 0, message = 'line a 1' where n = 1"],
    ["doubled", "an answer", copyOf(LAST, "(select max(id) from messages) + 1")],
    ["doubled", "a line", copyOf(`(${LAST} - 1)`, "(select max(id) from messages) + 1")],
    [
      "broken",
      "an answer in another session",
      `update messages set id = id + 16777216 * 7 where id = ${LAST}`,
    ],
    ["broken", "an incomplete answer", `update messages set text = substr(text, 1, 15) where id = ${LAST}`],
    ["broken", "a line before an earlier one", "update inbox set n = n + 100000 where n = 1"],
    ["broken", "a turn that still runs", "update turns set state = 'running' where n = 1"],
  ])("are checked by a judge that detects: %s, %s", (kind, _, harm) => {
    expect(checkLines(copyDamaged(report.database, harm), report.seen, report.printed)[kind]).not.toEqual([]);
  });

  it("are checked by a judge that detects output that was not stored, was printed twice, or by the wrong process", () => {
    const checked = (...more: Printed[]) =>
      checkLines(report.database, report.seen, [...report.printed, ...more]);
    const answer = (name: string): string => `answer to ${name}, in a few words\n`;
    expect(checked({ seat: "a", from: 1, out: answer("a 9999") }).lost).not.toEqual([]);
    expect(checked({ seat: "c", from: 1, out: answer("a 1").repeat(2) }).doubled).not.toEqual([]);
    expect(checked({ seat: "b", from: 1, out: answer("b 1") + answer("a 1") }).broken).not.toEqual([]);
    expect(checked({ seat: "a", from: 1, out: "something else" }).broken).not.toEqual([]);
  });
});
