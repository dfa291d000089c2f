import fc from "fast-check";
import { findNodeAtLocation, parse, parseTree, visit } from "jsonc-parser";
import { describe, expect, it } from "vitest";
import { type MergeResult, mergeEntry } from "./merge-entry.ts";

const PLACE = { section: "agent_servers", name: "Postrider" };
const ENTRY = { type: "custom", command: "/bin/node", args: ["/p.mjs", "acp"], env: {} };

function merge(
  text: string,
  isForced = false,
  entry: Readonly<Record<string, unknown>> = ENTRY,
): MergeResult {
  return mergeEntry(text, PLACE, entry, isForced);
}

function textOf(merged: MergeResult): string {
  if (!("text" in merged)) throw new Error(`nothing was merged: ${JSON.stringify(merged)}`);
  return merged.text;
}

const PRINTED = `"Postrider": {
      "type": "custom",
      "command": "/bin/node",
      "args": [
        "/p.mjs",
        "acp"
      ],
      "env": {}
    }`;

describe("mergeEntry", () => {
  it("creates settings in an empty file, and keeps its comments", () => {
    const whole = `{\n  "agent_servers": {\n    ${PRINTED}\n  }\n}\n`;
    expect(merge("")).toEqual({ state: "added", text: whole });
    expect(merge("// my settings")).toEqual({ state: "added", text: `// my settings\n${whole}` });
    expect(merge("{}")).toEqual({ state: "added", text: whole.trimEnd() });
  });

  it("adds the section after the last setting, whose comment stays with it", () => {
    const text = `// mine\n{\n  "theme": "One", // dark\n  "vim_mode": true // always\n  /* end */\n}\n`;
    expect(textOf(merge(text))).toBe(
      `// mine\n{\n  "theme": "One", // dark\n  "vim_mode": true, // always\n  "agent_servers": {\n    ${PRINTED}\n  }\n  /* end */\n}\n`,
    );
  });

  it("adds to existing agents, with a trailing comma if the file uses them", () => {
    const text = `{\n  "agent_servers": {\n    "Other": { "command": "o" }, // first\n  },\n}`;
    expect(textOf(merge(text))).toBe(
      `{\n  "agent_servers": {\n    "Other": { "command": "o" }, // first\n    ${PRINTED},\n  },\n}`,
    );
  });

  it("keeps the style of the file: tabs, line endings and byte order mark", () => {
    const entry = { command: "n" };
    expect(textOf(merge('\ufeff{\r\n\t"a": 1\r\n}\r\n', false, entry))).toBe(
      '\ufeff{\r\n\t"a": 1,\r\n\t"agent_servers": {\r\n\t\t"Postrider": {\r\n\t\t\t"command": "n"\r\n\t\t}\r\n\t}\r\n}\r\n',
    );
  });

  it("finds an existing entry in any layout, with additional fields", () => {
    const text = `{"agent_servers":{"Postrider":{/* mine */"env":{"KEY":"k"},"default_model":"m","args":["/p.mjs","acp",],
      "command":"/bin/node","type":"custom"}}}`;
    expect(merge(text)).toEqual({ state: "there" });
  });

  it("does not replace a different entry of that name, and names the different fields without their values", () => {
    const text = `{\n  "agent_servers": {\n    "Postrider": { "command": "old", "env": { "POSTRIDER_HOME": "/x", "KEY": "secret" } }\n  }\n}`;
    expect(merge(text)).toEqual({
      state: "other",
      line: 3,
      differs: ["type", "command", "args", "env.POSTRIDER_HOME"],
    });
  });

  it("replaces it when forced, keeps its other fields, and changes nothing else", () => {
    const before = `{ // top\n  "agent_servers": {\n    "A": {}, /* a */\n    "Postrider": `;
    const after = `, // ours\n    "Z": {},\n  },\n}`;
    const old = { command: "old", env: { POSTRIDER_HOME: "/x", KEY: "k" }, default_model: "m" };
    const { state, text } = merge(before + JSON.stringify(old) + after, true) as {
      state: string;
      text: string;
    };
    expect(state).toBe("replaced");
    expect(text.startsWith(before) && text.endsWith(after)).toBe(true);
    const value: unknown = JSON.parse(text.slice(before.length, text.length - after.length));
    expect(value).toEqual({ ...ENTRY, env: { KEY: "k" }, default_model: "m" });
    expect(merge(text)).toEqual({ state: "there" });
  });

  const unusable: readonly [text: string, line: number, column: number, why: string][] = [
    ['{\n  "a": 1\n  "b": 2\n}', 3, 3, "comma expected"],
    ['{\n  "a": tru\n}', 2, 8, "invalid symbol"],
    ['{ "a": 1', 1, 9, "close brace expected"],
    ["[]", 1, 1, "the settings are not an object"],
    ['{\n\n "agent_servers": null }', 3, 19, '"agent_servers" is not an object'],
    ['{ "agent_servers": {},\r\n"agent_servers": {} }', 2, 18, '"agent_servers" exists twice'],
    ['{ "agent_servers": { "Postrider": 1, "Postrider": 2 } }', 1, 51, '"Postrider" exists twice'],
  ];
  it.each(unusable)("does not change %j and reports the position of the error", (text, line, column, why) => {
    expect(merge(text)).toEqual({ state: "unusable", line, column, why });
  });

  it("only inserts text, for any settings and layout, and changes nothing the second time", () => {
    fc.assert(
      fc.property(settings, (before) => {
        const after = textOf(merge(before));
        expect(isInserted(before, after)).toBe(true);
        expect(merge(after)).toEqual({ state: "there" });
        expect(commentsIn(after)).toEqual(commentsIn(before));
        const errors: unknown[] = [];
        const value = parse(after.replace("\ufeff", ""), errors as never, {
          allowTrailingComma: true,
        }) as Settings;
        expect(errors).toEqual([]);
        const was = parse(before) as Settings;
        expect(value).toEqual({ ...was, agent_servers: { ...was.agent_servers, Postrider: ENTRY } });
      }),
      { numRuns: 500 },
    );
  });

  it("changes no byte outside of the entry when forced", () => {
    fc.assert(
      fc.property(settings, fc.dictionary(fc.string(), fc.jsonValue()), (given, old) => {
        const other = textOf(merge(given, false, { ...ENTRY, ...old, command: "another" }));
        const forced = textOf(merge(other, true));
        expect(merge(forced)).toEqual({ state: "there" });
        expect(commentsIn(forced)).toEqual(commentsIn(given));
        expect(aroundEntry(forced)).toEqual(aroundEntry(other));
      }),
      { numRuns: 200 },
    );
  });
});

interface Settings {
  readonly agent_servers?: Readonly<Record<string, unknown>>;
}

/** Random settings with whitespace, comments and trailing commas anywhere. */
const settings = fc
  .record({
    fields: fc.dictionary(
      fc.string().filter((key) => key !== "agent_servers" && key !== "__proto__"),
      fc.oneof(fc.jsonValue({ maxDepth: 2 }), fc.constantFrom("// no comment", "/* nor this */", '},"{')),
      { maxKeys: 4 },
    ),
    servers: fc.option(
      fc.dictionary(
        fc.string().filter((key) => key !== "Postrider" && key !== "__proto__"),
        fc.jsonValue({ maxDepth: 1 }),
        { maxKeys: 3 },
      ),
    ),
    at: fc.nat(4),
    choices: fc.array(fc.nat(99), { minLength: 1, maxLength: 50 }),
    mark: fc.constantFrom("", "\ufeff"),
  })
  // Not `__proto__`, which JavaScript treats specially.
  .filter(({ fields, servers }) => !JSON.stringify([fields, servers]).includes("__proto__"))
  .map(({ fields, servers, at, choices, mark }) => {
    const entries = Object.entries(fields);
    if (servers !== null) entries.splice(at, 0, ["agent_servers", servers]);
    return mark + printed(entries, choices);
  });

const BETWEEN = [
  "",
  "",
  " ",
  "\n",
  "\n  ",
  "\r\n\t",
  " // and this, {\n",
  "//\r\n",
  "/**/",
  ' /* "agent_servers": {\n } */ ',
];

function printed(root: readonly (readonly [string, unknown])[], choices: readonly number[]): string {
  let used = 0;
  const next = (): number => choices[used++ % choices.length] ?? 0;
  const gap = (): string => BETWEEN[next() % BETWEEN.length] ?? "";
  const around = (open: string, parts: readonly string[], close: string): string => {
    const comma = parts.length > 0 && next() % 2 === 0 ? `,${gap()}` : "";
    return `${open}${gap()}${parts.join(`,${gap()}`)}${comma}${close}`;
  };
  const object = (entries: readonly (readonly [string, unknown])[]): string =>
    around(
      "{",
      entries.map(([key, value]) => `${JSON.stringify(key)}${gap()}:${gap()}${print(value)}${gap()}`),
      "}",
    );
  const print = (value: unknown): string => {
    if (Array.isArray(value))
      return around(
        "[",
        value.map((item) => print(item) + gap()),
        "]",
      );
    return typeof value === "object" && value !== null
      ? object(Object.entries(value))
      : JSON.stringify(value);
  };
  return gap() + object(root) + gap();
}

/** Whether the text is the other one with one insertion, and perhaps a comma before it. */
function isInserted(before: string, after: string): boolean {
  let from = 0;
  while (from < before.length && before[from] === after[from]) from += 1;
  let to = 0;
  while (to < before.length - from && before.at(-1 - to) === after.at(-1 - to)) to += 1;
  const between = before.slice(from, before.length - to);
  return between === "" || (after[from] === "," && after.startsWith(between, from + 1));
}

/** The text before and after the entry. */
function aroundEntry(text: string): readonly [string, string] {
  const root = parseTree(text.replace("\ufeff", " "));
  const entry = root && findNodeAtLocation(root, ["agent_servers", "Postrider"]);
  if (entry === undefined) throw new Error(`there is no entry in ${text}`);
  return [text.slice(0, entry.offset), text.slice(entry.offset + entry.length)];
}

function commentsIn(text: string): readonly string[] {
  const comments: string[] = [];
  visit(text, {
    onComment: (offset, length) => void comments.push(text.slice(offset, offset + length)),
  });
  return comments;
}
