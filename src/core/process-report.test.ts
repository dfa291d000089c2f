import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type Exit, KEPT_OUTPUT, type Process, WATCH_MODES, type WatchMode } from "./process.ts";
import {
  buildProcessReport,
  findDueReport,
  formatCommand,
  formatDuration,
  formatEnd,
  formatEndLine,
  formatMatches,
  formatProgress,
  formatWakeMessage,
} from "./process-report.ts";

const BEGUN = 1_000_000;
const MINUTE = 60_000;
const later = BEGUN + 3 * MINUTE;

const process = (more: Partial<Process> = {}): Process => ({
  id: "proc_0123456789ab",
  command: "npm test",
  cwd: "/srv",
  background: true,
  pty: false,
  watch: { mode: "all", everyMs: MINUTE, patterns: [], wakes: false },
  session: "s",
  conversation: 1,
  target: { platform: "telegram", chatId: "1", chatType: "dm" },
  begunAt: BEGUN,
  status: { state: "running", pid: 7, startTime: "1", keeper: "k", detached: false },
  total: 0,
  matches: { count: 0, lines: [] },
  reported: { upTo: 0, at: 0, matches: 0, end: false },
  ...more,
});

const buildWatch = (mode: WatchMode, everyMs?: number): Process["watch"] => ({
  mode,
  patterns: [],
  wakes: false,
  ...(everyMs !== undefined && { everyMs }),
});
const endProcess = (exit: Exit, more: Partial<Process> = {}): Process =>
  process({ status: { state: "ended", at: later, exit }, ...more });

describe("a running process", () => {
  it("is reported only in mode all, after the interval and with new output", () => {
    const news = (mode: WatchMode, now: number, total = 10): unknown =>
      findDueReport(process({ watch: buildWatch(mode, MINUTE), total }), now);
    expect(WATCH_MODES.map((mode) => news(mode, later))).toEqual(["progress", ...Array(3).fill(undefined)]);
    expect([news("all", BEGUN + MINUTE - 1), news("all", BEGUN + MINUTE)]).toEqual([undefined, "progress"]);
    expect(news("all", later, 0)).toBeUndefined();
    expect(findDueReport(process({ watch: buildWatch("all"), total: 10 }), later)).toBeUndefined();
    const told = { upTo: 10, at: later, matches: 0, end: false };
    expect(findDueReport(process({ total: 10, reported: told }), later + 9 * MINUTE)).toBeUndefined();
    expect(findDueReport(process({ total: 11, reported: told }), later + MINUTE - 1)).toBeUndefined();
    expect(findDueReport(process({ total: 11, reported: told }), later + MINUTE)).toBe("progress");
  });

  it("has new output also when the kept output is full", () => {
    const told = { upTo: 5 * KEPT_OUTPUT, at: BEGUN, matches: 0, end: false };
    expect(findDueReport(process({ total: 5 * KEPT_OUTPUT + 1, reported: told }), later)).toBe("progress");
  });

  it("is reported with its last 500 characters, in a code block that they cannot close", () => {
    const output = `${"x".repeat(600)}\n\`\`\`\nend\n`;
    const words = formatProgress(process(), output, later);
    expect(words.split("\n")[0]).toBe("`npm test` (proc_0123456789ab) runs for 3 min.");
    const [, inside = ""] = /\n````\n(.*)\n````$/s.exec(words) ?? [];
    expect(inside).toBe(output.trimEnd().slice(-500));
  });

  it("reports matching lines at once, except in mode off, and then at most every 30 s", () => {
    const matches = { count: 3, lines: ["a", "b", "c"] };
    const news = (mode: WatchMode) => findDueReport(process({ watch: buildWatch(mode), matches }), BEGUN + 1);
    expect(WATCH_MODES.map(news)).toEqual(["matched", "matched", "matched", undefined]);
    const told = { upTo: 0, at: later, matches: 1, end: false };
    expect(findDueReport(process({ matches, reported: told }), later + 29_999)).toBeUndefined();
    const due = process({ matches, reported: told });
    expect(findDueReport(due, later + 30_000)).toBe("matched");
    expect(formatMatches(due)).toBe("`npm test` (proc_0123456789ab) printed:\n\n```\nb\nc\n```");
    expect(formatMatches(process({ matches: { count: 12, lines: ["x", "y"] } }))).toContain(
      "printed (and 10 more before):",
    );
  });

  it("is not reported before it runs", () => {
    expect(findDueReport(process({ status: { state: "starting" }, total: 9 }), later)).toBeUndefined();
  });
});

describe("the end of a process", () => {
  it("is reported in the modes all and result, in error only after a failure, in off never", () => {
    const news = (exit: Exit) =>
      WATCH_MODES.map((mode) => findDueReport(endProcess(exit, { watch: buildWatch(mode) }), later));
    expect(news({ code: 0 })).toEqual(["ended", "ended", "over", "over"]);
    for (const exit of [{ code: 1 }, { signal: "SIGKILL" }, { unknown: true }] as const)
      expect(news(exit)).toEqual(["ended", "ended", "ended", "over"]);
  });

  it("is never reported twice", () => {
    const told = { upTo: 0, at: 0, matches: 0, end: true };
    fc.assert(
      fc.property(fc.constantFrom(...WATCH_MODES), fc.nat(), fc.nat(), (mode, total, count) => {
        const again = endProcess(
          { code: 1 },
          { watch: buildWatch(mode), total, reported: told, matches: { count, lines: [] } },
        );
        expect(findDueReport(again, later + 1e9)).toBeUndefined();
      }),
    );
  });

  it("contains the exit and the last 1000 characters", () => {
    const words = formatEnd(endProcess({ code: 1 }), `${"y".repeat(3000)}\nfailed\n`);
    expect(words.split("\n")[0]).toBe("`npm test` (proc_0123456789ab) ended with code 1 after 3 min.");
    expect(words).toContain(`\n${"y".repeat(1000 - 7)}\nfailed\n`);
    expect(formatEndLine(endProcess({ signal: "SIGTERM" }))).toContain("was ended by SIGTERM after 3 min.");
    expect(formatEndLine(endProcess({ unknown: true }))).toContain("ended with an unknown code after 3 min.");
    expect(formatEnd(endProcess({ code: 0 }), " \n")).toMatch(/after 3 min\. It printed nothing\.$/);
  });

  it("contains matching lines that were not reported yet, also if the end itself is not reported", () => {
    const matches = { count: 1, lines: ["listening on 80"] };
    expect(formatEnd(endProcess({ code: 0 }, { matches }), "bye")).toContain("listening on 80");
    const quiet = endProcess({ code: 0 }, { matches, watch: buildWatch("error") });
    expect(findDueReport(quiet, later)).toBe("matched");
    expect(findDueReport({ ...quiet, watch: buildWatch("off") }, later)).toBe("over");
    expect(buildProcessReport(quiet, 0)).toMatchObject({ matches: 1, end: true });
  });

  it("is reported to the agent", () => {
    expect(formatWakeMessage(endProcess({ code: 0 }), "done\n")).toBe(
      "[The background process proc_0123456789ab (`npm test`) ended with code 0 after 3 min. Its last output:\n```\ndone\n```\n]",
    );
  });
});

it("never records less than before", () => {
  fc.assert(
    fc.property(fc.nat(), fc.nat(), (before, upTo) => {
      const { reported } = process({ reported: { upTo: before, at: 0, matches: 0, end: false } });
      expect(buildProcessReport(process({ reported }), upTo).upTo).toBe(Math.max(before, upTo));
    }),
  );
});

it("has no lone surrogate at the cut, for any output", () => {
  fc.assert(
    fc.property(fc.string({ unit: "grapheme", minLength: 400, maxLength: 700 }), (printed) => {
      expect(formatProgress(process(), printed, later).isWellFormed()).toBe(true);
    }),
  );
});

it("contains the command on one line", () => {
  expect(formatCommand("echo `id`\n\tdone")).toBe("`echo 'id' done`");
  expect(formatCommand("x".repeat(200))).toHaveLength(82);
});

it("contains the duration in two units at most", () => {
  const words = [0, 59, 60, 3599, 3600, 3660, 86_400, 90_000].map((seconds) =>
    formatDuration(seconds * 1000),
  );
  expect(words).toEqual(["0 s", "59 s", "1 min", "59 min", "1 h", "1 h 1 min", "1 d", "1 d 1 h"]);
});
