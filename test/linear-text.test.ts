import { beforeAll, describe, expect, it } from "vitest";
import { toHtml } from "../src/platforms/telegram/format.ts";
import { toReadableOutput } from "../src/tools/readable-output.ts";
import { BOUNDED, LINEAR } from "./linear-text/functions.ts";
import { growthOf, readsOn } from "./linear-text/measure.ts";
import { STRINGS } from "./linear-text/strings.ts";
import { schedule } from "./support/schedule.ts";

/** A quadratic function needs at least a second for this, a linear one a few milliseconds. */
const LARGEST = 128_000;
const MILLION = 1_000_000;
const SAMPLE = ['"["', '"**a "', '"a"', '"\\n"', '"<a>"', '"{a: "', "nested quotes"];
const SAMPLED = STRINGS.filter(([name]) => SAMPLE.includes(name));

describe("a long text with any content", () => {
  /** By function. Each text is built once for all of them. */
  const slow = new Map<string, string[]>(LINEAR.map(([name]) => [name, []]));

  beforeAll(() => {
    for (const [text, make] of schedule(SAMPLED, STRINGS)) {
      const made = new Map<number, string>();
      const once = (size: number): string => {
        const known = made.get(size) ?? make(size);
        made.set(size, known);
        return known;
      };
      for (const [name, run] of LINEAR) {
        const growth = growthOf(run, once, LARGEST);
        if (growth !== undefined) slow.get(name)?.push(`${text}: ${growth}`);
      }
    }
  }, 300_000);

  it.each(LINEAR)("takes %s at most 2.5 times as long as a text of half the length", (name) => {
    expect(slow.get(name)).toEqual([]);
  });

  it("of a million characters is processed", () => {
    for (const unit of ["\r", "\x1b]", "[", "`", "*a ", " "]) {
      expect(toReadableOutput(unit.repeat(MILLION / unit.length)).length).toBeLessThanOrEqual(MILLION);
      expect(toHtml(unit.repeat(MILLION / unit.length)).text.length).toBeLessThanOrEqual(MILLION);
    }
  }, 60_000);
});

describe("a text longer than the part that is read", () => {
  it.each(BOUNDED)(
    "takes %s no longer than a text of half the length",
    (_, run) => {
      const slow = schedule(SAMPLED.slice(0, 2), SAMPLED).flatMap(([name, make]) => {
        const growth = readsOn(run, make, MILLION);
        return growth === undefined ? [] : [`${name}: ${growth}`];
      });
      expect(slow).toEqual([]);
    },
    120_000,
  );
});
