import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { TOOL_NAMES } from "../../core/tool-settings.ts";
import { editText, listComments } from "./edit-text.ts";
import { parseTextLayer } from "./layers.ts";
import { SETTINGS, type SettingValue } from "./settings.ts";

const values = (text: string): Record<string, SettingValue> => {
  const { values, problems } = parseTextLayer("c.yaml", text, "home");
  expect(problems).toEqual([]);
  return Object.fromEntries([...values].map(([key, { value }]) => [key, value]));
};
const set = (text: string, key: string, value: SettingValue | undefined): string =>
  editText(text, key.split("."), value) ?? "(cannot be edited)";

const FILE = `# My settings.

# Where I live.
timezone: Europe/Berlin # since 2026

session_reset: # not too soon
  # Night owl.
  at_hour: 6   # not 4
  mode: both
platforms:
  telegram:
    allow:
      - "1" # Ada
      # Bob's new one
      - "2"
    token: 'abc' # secret
# The end.
`;

describe("setting a value in a file", () => {
  it("changes one line and nothing else", () => {
    expect(set(FILE, "session_reset.at_hour", 5)).toBe(FILE.replace("at_hour: 6", "at_hour: 5"));
    expect(set(FILE, "timezone", "UTC")).toBe(FILE.replace("Europe/Berlin", "UTC"));
  });

  it("adds a missing setting, in its section or in a new one", () => {
    const more = set(set(FILE, "session_reset.idle_minutes", 90), "gateway.busy", "queue");
    expect(values(more)).toEqual({
      ...values(FILE),
      "session_reset.idle_minutes": 90,
      "gateway.busy": "queue",
    });
    expect(more).toContain("  mode: both\n  idle_minutes: 90\n");
    expect(listComments(more).toSorted()).toEqual(listComments(FILE).toSorted());
  });

  it("keeps the comments of list entries, even of removed ones", () => {
    const fewer = set(FILE, "platforms.telegram.allow", ["1", "3"]);
    expect(values(fewer)["platforms.telegram.allow"]).toEqual(["1", "3"]);
    expect(fewer).toContain('- "1" # Ada');
    expect(listComments(fewer).toSorted()).toEqual(listComments(FILE).toSorted());
  });

  it("removes a value and its empty section, and keeps the comments", () => {
    const without = set(set(FILE, "session_reset.at_hour", undefined), "session_reset.mode", undefined);
    expect(without).not.toContain("session_reset");
    expect(listComments(without).toSorted()).toEqual(listComments(FILE).toSorted());
    expect(set(FILE, "gateway.busy", undefined)).toBe(FILE);
    expect(set("# alone\ntimezone: UTC # here\n", "timezone", undefined)).toBe("# alone\n# here\n");
    expect(set("timezone: UTC\n", "timezone", undefined)).toBe("");
  });

  it.each([
    ["", "timezone: UTC\n"],
    ["# only a remark\n", "# only a remark\n\ntimezone: UTC\n"],
    ["timezone:\n", "timezone: UTC\n"],
    ["timezone: ~ # none\n", "timezone: UTC # none\n"],
    ["{ profile: a }\n", "{ profile: a, timezone: UTC }\n"],
    ["profile: a\r\n# b\r\n", "profile: a\r\ntimezone: UTC\r\n# b\r\n"],
  ])("works in %j", (before, after) => {
    expect(set(before, "timezone", "UTC").replaceAll(/(\r?\n)\1+/g, "$1")).toBe(
      after.replaceAll(/(\r?\n)\1+/g, "$1"),
    );
  });

  it("fills an empty section and keeps its comment", () => {
    expect(set("session_reset: # later\nprofile: a\n", "session_reset.at_hour", 5)).toBe(
      "session_reset:\n  # later\n  at_hour: 5\nprofile: a\n",
    );
  });

  it("refuses to change a value that an alias shares", () => {
    const shared = "reset_by_platform:\n  telegram: &p { at_hour: 5 }\n  signal: *p\n";
    expect(editText(shared, ["reset_by_platform", "telegram", "at_hour"], 6)).toBeUndefined();
    expect(editText(shared, ["reset_by_platform", "signal", "at_hour"], 6)).toBeUndefined();
  });

  it.each([
    "null",
    "~",
    "true",
    "0049",
    "+1555",
    "1e3",
    "0x10",
    "yes",
    "- a",
    "a: b",
    "#x",
    "'",
    '"',
    " a",
    "@x",
    "*",
    "&a",
  ])("writes the text %j so that every YAML reader reads a text", (text) => {
    expect(values(set("", "instructions", text))).toEqual({ instructions: text });
    expect(values(set("", "access.allow", [`${text}x`]))).toEqual({ "access.allow": [`${text}x`.trim()] });
  });
});

/** A valid value of the setting. */
function valuesOf(kind: (typeof SETTINGS)[number]["kind"]): fc.Arbitrary<SettingValue> {
  const text = fc
    .oneof(
      fc.string({ unit: "grapheme", maxLength: 60 }),
      fc.lorem({ maxCount: 30 }),
      fc.constant("a\n\n b\n\tc \n"),
    )
    .filter((it) => it.trim() !== "" && it.isWellFormed());
  const folder = fc.stringMatching(/^(?:\/[\w.@-]*\w){1,3}$/);
  switch (kind.type) {
    case "switch":
      return fc.boolean();
    case "whole":
      return fc.integer({ min: kind.least, max: kind.most ?? 1e9 });
    case "share":
      return fc.integer({ min: 10, max: 100 }).map((percent) => percent / 100);
    case "choice":
      return fc.constantFrom(...kind.options);
    case "redaction":
      return fc.constantFrom("false", "true", "strict");
    case "zone":
      return fc.constantFrom("UTC", "Europe/Berlin", "America/Argentina/Ushuaia");
    case "address":
      return fc.webUrl({ validSchemes: ["http", "https"] });
    case "name":
      return fc.stringMatching(/^[a-z0-9][a-z0-9_-]{0,10}$/);
    case "platforms":
      return fc.subarray(["telegram", "webhook", "signal"]);
    case "tools":
      return fc.subarray([...TOOL_NAMES]);
    case "folder":
      return folder;
    case "folders":
      return fc.array(folder, { maxLength: 3 });
    case "variables":
      return fc.array(fc.stringMatching(/^[A-Z_][A-Z0-9_]{0,9}$/), { maxLength: 3 });
    case "modules":
      return fc.array(fc.constantFrom("./a.ts", "postrider-plugin-x"), { minLength: 1, maxLength: 3 });
    case "ids":
      return fc.array(
        fc.stringMatching(/^[+@]?[\w.:-]{1,20}$/).filter((id) => id.trim() === id),
        { maxLength: 4 },
      );
    case "word":
      return fc.stringMatching(/^[!-~]{1,50}$/);
    case "id":
      return fc.stringMatching(/^[+@-]?[\w.:-]{1,20}$/);
    case "text":
      return text;
  }
}

const change = fc.constantFrom(...SETTINGS).chain((setting) =>
  fc.record({
    key: fc.constantFrom("group", "x-1").map((name) => setting.key.replace("*", name)),
    value: fc.option(valuesOf(setting.kind), { nil: undefined, freq: 5 }),
  }),
);

describe("any change of any file", () => {
  it("reads back as intended, and keeps every comment and every other value", () => {
    const remark = fc.stringMatching(/^[\w '"{}[\]:,#*&!|>-]{1,20}$/).filter((it) => it.trim() !== "");
    fc.assert(
      fc.property(
        fc.array(fc.tuple(change, fc.option(remark)), { maxLength: 8 }),
        change,
        (history, { key, value }) => {
          let text = "";
          for (const [past, words] of history) {
            text = set(text, past.key, past.value);
            // Comments are before lines, and after values that end with their line.
            if (words === null) continue;
            const lines = text.split("\n");
            const plain = lines.findIndex((line) => /^[ \w.-]+: [\w/.]+$/.test(line));
            const isBlock = /["'|>]/.test(text);
            if (plain >= 0 && words.length % 2 === 0) lines[plain] += ` # ${words}`;
            else if (!isBlock) lines.splice(words.length % lines.length, 0, `# ${words}`);
            text = lines.join("\n");
          }
          const before = values(text);
          const edited = set(text, key, value);
          const after = values(edited);
          const { [key]: _, ...others } = before;
          const read = Array.isArray(value) ? value.map((id) => String(id).trim()) : value;
          expect(after).toEqual(value === undefined ? others : { ...others, [key]: read });
          expect(listComments(edited).toSorted()).toEqual(listComments(text).toSorted());
          expect(set(edited, key, value)).toBe(edited);
        },
      ),
      { numRuns: 300 },
    );
  });
});
