import { beforeAll, describe, expect, it } from "vitest";
import { driveKeeperKills, type KeeperKillReport } from "./keeper-kill/drive.ts";
import { judgePrinter, type Printed } from "./keeper-kill/judge.ts";
import { temporaryFolder } from "./support/folder.ts";
import { schedule } from "./support/schedule.ts";

const SEED = 20_261_117;
const KILLS = schedule(3, 8);
const PRINTERS = schedule(4, 6);

// Leftover processes are found in /proc.
describe.skipIf(process.platform !== "linux")(
  `the keeper, killed ${KILLS} times during ${PRINTERS} commands that print (seed ${SEED})`,
  () => {
    let report: KeeperKillReport;

    beforeAll(async () => {
      const folder = temporaryFolder();
      try {
        report = await driveKeeperKills({
          folder: folder.path,
          seed: SEED,
          kills: KILLS,
          printers: PRINTERS,
        });
      } finally {
        folder.remove();
      }
      console.log(`seed ${SEED}: kills ${report.kills}, lines ${report.lines}`);
    }, 120_000);

    it("ends none of them, and stores the exit of each", () => {
      expect(report.errors).toEqual([]);
      expect(report.kills).toBe(KILLS);
    });

    it("stores every line once, with pipes and with terminals", () => {
      expect(report.lost).toEqual([]);
      expect(report.doubled).toEqual([]);
      expect(report.lines).toBeGreaterThan(PRINTERS * 10);
    });

    // A check that cannot fail proves nothing: it must detect each of these errors.
    it.each<["lost" | "doubled" | "errors", string, (good: Printed) => Printed]>([
      ["lost", "a missing line", (good) => ({ ...good, ...withText(good, dropLine) })],
      ["doubled", "a repeated line", (good) => ({ ...good, ...withText(good, doubleLine) })],
      ["errors", "two lines in another order", (good) => ({ ...good, ...withText(good, swapLines) })],
      ["lost", "a missing end", (good) => ({ ...good, text: good.text.slice(0, -3) })],
      ["errors", "another exit code", (good) => ({ ...good, exit: { code: 121 } })],
      ["errors", "an exit that nobody knows", (good) => ({ ...good, exit: { unknown: true } })],
    ])("is checked by a judge that detects: %s, %s", (kind, _, harm) => {
      for (const { printer, printed } of report.printed)
        expect(judgePrinter(printer, harm(printed))[kind]).not.toEqual([]);
    });
  },
);

function withText(good: Printed, change: (lines: string[]) => string[]): Partial<Printed> {
  const text = change(good.text.split("\n")).join("\n");
  return { text, total: good.total + text.length - good.text.length };
}

function dropLine(lines: string[]): string[] {
  return lines.toSpliced(3, 1);
}

function doubleLine(lines: string[]): string[] {
  return lines.toSpliced(3, 0, lines[3] ?? "");
}

function swapLines(lines: string[]): string[] {
  return lines.toSpliced(3, 2, lines[4] ?? "", lines[3] ?? "");
}
