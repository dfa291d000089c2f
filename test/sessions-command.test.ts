import { existsSync, readdirSync, readFileSync, statSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { stripVTControlCharacters } from "node:util";
import { visibleWidth } from "@earendil-works/pi-tui";
import fc from "fast-check";
import { beforeEach, describe, expect, it } from "vitest";
import { COMMANDS } from "../src/apps/cli/commands.ts";
import { formatDate } from "../src/apps/cli/format-time.ts";
import { cli, startCli } from "./support/cli.ts";
import { me, NOW, type TestHome, testHome } from "./support/command.ts";
import { DAY, type Furnished, furnishedHome, HOUR } from "./support/furnished.ts";

let home: Furnished;
beforeEach(async () => {
  home = await furnishedHome();
});

/** A home with one session for each title, newest first. */
async function withTitles(titles: readonly string[]): Promise<TestHome> {
  const made = testHome();
  await made.fill(async ({ sessions, at }) => {
    for (const [index, title] of titles.entries()) {
      at(NOW - index * HOUR);
      await sessions.create(me, { title });
    }
  });
  return made;
}

describe("help", () => {
  it("of every command has an example, and every option of every example exists", async () => {
    for (const { name, load } of COMMANDS) {
      const command = await load();
      expect(command.examples.length, name).toBeGreaterThan(0);
      if (name === "") continue;
      const { code, out, err } = await home.run([...name.split(" "), "--help"]);
      expect({ code, err }).toEqual({ code: 0, err: "" });
      expect(out).toContain(`Usage: postrider ${name}`);
      const listed = new Set(
        [...out.matchAll(/^ {2}(?:-(\w), | {4})--([\w-]+)/gm)].flatMap(([, a, b]) => [a, b]),
      );
      for (const [line] of command.examples) {
        expect(out).toContain(line);
        const own = line.slice(line.indexOf(`postrider ${name}`)).split(" | ")[0] ?? "";
        const typed = own.replaceAll(/'[^']*'|"[^"]*"/g, "").split(" -- ")[0] ?? "";
        for (const [, option] of typed.matchAll(/ --?([a-z][\w-]*)/g))
          expect(listed, `${line}: ${option}`).toContain(option);
      }
    }
  });

  it("lists the commands of a group, also if the command is missing or unknown", async () => {
    const { out } = await home.run(["sessions", "--help"]);
    for (const { name } of COMMANDS) if (name.startsWith("sessions ")) expect(out).toContain(name);
    expect(await home.run(["sessions"])).toMatchObject({ code: 2, out: "" });
    expect((await home.run(["sessions", "liszt"])).err).toContain("list, show, search");
  });
});

describe("docs/commands.md", () => {
  it("has a heading for every command, and the exit codes", async () => {
    const text = readFileSync(new URL("../docs/commands.md", import.meta.url), "utf8");
    for (const { name } of COMMANDS)
      expect(text).toContain(name === "" ? "## postrider\n" : `## postrider ${name}\n`);
    for (const [, heading] of text.matchAll(/^##+ postrider (.+)$/gm))
      expect(COMMANDS.map(({ name }) => name)).toContain(heading);
    expect(text).toContain("## Exit codes");
  });
});

describe("postrider sessions list", () => {
  it("shows the owner's sessions, newest first: handle, title or first words, platform, time, messages", async () => {
    const { code, out, err } = await home.run(["sessions", "list"]);
    expect({ code, err }).toEqual({ code: 0, err: "" });
    expect(out.split("\n").map((line) => line.split(/ {2,}/))).toEqual([
      ["HANDLE", "TITLE", "PLATFORM", "LAST", "MESSAGES"],
      [home.plans, "holiday plans", "2h ago", "5"],
      [expect.any(String), "(no messages yet)", "local", formatDate(NOW - 100 * DAY), "0"],
      [home.old, "データベース設計について", "local", formatDate(NOW - 100 * DAY), "1"],
      [""],
    ]);
  });

  it("shows all sessions with their owners with --everyone", async () => {
    const { out } = await home.run(["sessions", "list", "--everyone"]);
    expect(out).toContain("OWNER");
    expect(out).toMatch(new RegExp(`^${home.group} +hello everyone +p_\\w+ +telegram`, "m"));
    expect((await home.run(["sessions", "list"])).out).not.toContain("hello everyone");
  });

  it("filters by platform, kind, time, title and archive", async () => {
    const handles = async (...args: string[]): Promise<string[]> => {
      const { sessions } = await home.json<{ sessions: { handle: string }[] }>(["sessions", "list", ...args]);
      return sessions.map(({ handle }) => handle);
    };
    expect(await handles("--titled")).toEqual([home.plans]);
    expect(await handles("--since", "1d")).toEqual([home.plans]);
    expect(await handles("--since", formatDate(NOW - 100 * DAY))).toHaveLength(3);
    expect(await handles("--platform", "telegram")).toEqual([]);
    expect(await handles("--platform", "telegram", "--everyone")).toEqual([home.group]);
    expect(await handles("--kind", "job,editor")).toEqual([]);
    await home.run(["sessions", "archive", home.plans]);
    expect(await handles()).not.toContain(home.plans);
    expect(await handles("--archived")).toEqual([home.plans]);
    expect(await handles("--all")).toContain(home.plans);
  });

  it("returns every session once over all pages", async () => {
    const titles = Array.from({ length: 25 }, (_, n) => `title ${n}`);
    const many = await withTitles(titles);
    const seen: unknown[] = [];
    for (let cursor: string | null | undefined; cursor !== null; ) {
      const more = cursor === undefined ? [] : ["--cursor", cursor];
      const page = await many.json<{ sessions: { title: string }[]; cursor: string | null }>([
        "sessions",
        "list",
        "--limit",
        "10",
        ...more,
      ]);
      seen.push(...page.sessions.map(({ title }) => title));
      cursor = page.cursor;
    }
    expect(seen).toEqual(titles);
    const first = await many.run(["sessions", "list"]);
    expect(first.out.trimEnd().split("\n")).toHaveLength(21);
    const [, cursor = ""] = /--cursor (\S+) or/.exec(first.err) ?? [];
    const second = await many.run(["sessions", "list", "--cursor", cursor]);
    expect(second.out).toContain("title 20");
    expect(second.err).toBe("");
  });

  it("prints a hint if there is no session", async () => {
    const empty = testHome();
    expect(await empty.run(["sessions", "list"])).toEqual({
      code: 0,
      out: "",
      err: "There are no sessions yet. Start one with: postrider\n",
    });
    expect((await home.run(["sessions", "list", "--kind", "job"])).err).toContain("Use fewer options");
    expect((await home.run(["sessions", "list", "--archived"])).err).toContain("No session is archived");
    expect(await empty.json(["sessions", "list"])).toEqual({ sessions: [], cursor: null });
  });

  it.each([
    [["--limit", "0"], "--limit"],
    [["--limit", "1001"], "--limit"],
    [["--limit", "many"], "whole number"],
    [["--kind", "chats"], "--kind"],
    [["--since", "soon"], "--since"],
    [["extra"], "no words"],
  ])("refuses %j with exit code 2", async (args, names) => {
    const { code, out, err } = await home.run(["sessions", "list", ...args]);
    expect({ code, out }).toEqual({ code: 2, out: "" });
    expect(err).toContain(names);
  });

  it("refuses an invalid cursor", async () => {
    expect(await home.run(["sessions", "list", "--cursor", "x"])).toMatchObject({ code: 1, out: "" });
  });

  const TITLES = [
    "夜景とデータベース設計についての長い話し合いの続きのまとめ",
    "👨‍👩‍👧 family 👍🏽 thumbs 🇩🇪 flags and a very long tail of words that goes on",
    "สวัสดีชาวโลก ภาษาไทยไม่มีช่องว่างระหว่างคำ",
    "plain and short",
    "한국어 제목도 길어질 수 있습니다 아주 아주 길게",
  ];
  it.each([40, 80, 200])("never writes a line wider than a terminal of %i columns", async (columns) => {
    const many = await withTitles(TITLES);
    for (const args of [[], ["--everyone"], ["--limit", "1"]]) {
      const { out } = await many.run(["sessions", "list", ...args], { columns });
      const lines = stripVTControlCharacters(out).trimEnd().split("\n");
      expect(lines.length).toBeGreaterThan(1);
      for (const line of lines) expect(visibleWidth(line), line).toBeLessThanOrEqual(columns);
      expect(lines.join("\n")).toMatch(/just now/);
    }
  });

  it("cuts nothing in a pipe, and uses colours only in a terminal or on request", async () => {
    const many = await withTitles(TITLES);
    const piped = await many.run(["sessions", "list"]);
    for (const title of TITLES) expect(piped.out).toContain(title.replaceAll("\u200d", ""));
    const escapes = async (environment: NodeJS.ProcessEnv, columns?: number): Promise<boolean> =>
      (
        await many.run(["sessions", "list"], { environment, ...(columns !== undefined && { columns }) })
      ).out.includes("\x1b");
    expect(await escapes({}, 80)).toBe(true);
    expect(await escapes({ NO_COLOR: "1" }, 80)).toBe(false);
    expect(await escapes({ TERM: "dumb" }, 80)).toBe(false);
    expect(await escapes({})).toBe(false);
    expect(await escapes({ FORCE_COLOR: "1" })).toBe(true);
  });
});

describe("SESSION", () => {
  it("is a handle, an id, a title or the prefix of an id", async () => {
    const idOf = async (name: string): Promise<string> =>
      (await home.json<{ session: { id: string } }>(["sessions", "show", name])).session.id;
    expect(await idOf(home.plans)).toBe(home.plansId);
    expect(await idOf(home.plansId)).toBe(home.plansId);
    expect(await idOf("holiday plans")).toBe(home.plansId);
    expect(await idOf("  holiday   plans ")).toBe(home.plansId);
    expect(await idOf(home.plansId.slice(0, -2))).toBe(home.plansId);
  });

  it("that is ambiguous lists the matches; an unknown one explains how to find it", async () => {
    const several = await home.run(["sessions", "show", "202"]);
    expect(several).toMatchObject({ code: 4, out: "" });
    expect(several.err).toContain(home.plansId);
    expect(several.err).toContain(home.old);
    const none = await home.run(["sessions", "show", "nothing"]);
    expect(none).toMatchObject({ code: 3, out: "" });
    expect(none.err).toContain("postrider sessions list");
    expect((await home.run(["sessions", "show", "x".repeat(500)])).code).toBe(3);
    expect((await home.run(["sessions", "show", ""])).code).toBe(3);
  });

  it("treats _ and % as literal characters", async () => {
    expect((await home.run(["sessions", "show", "____"])).code).toBe(3);
    expect((await home.run(["sessions", "show", "2026%"])).code).toBe(3);
    expect((await home.run(["sessions", "show", home.plansId.replace("_", "x").slice(0, 12)])).code).toBe(3);
    const odd = await withTitles(["100% done", "test_project"]);
    expect((await odd.run(["sessions", "show", "testXproject"])).code).toBe(3);
    expect((await odd.run(["sessions", "show", "100% done"])).code).toBe(0);
    expect((await odd.run(["sessions", "show", "100%"])).code).toBe(3);
  });

  it("matches the newest of a lineage or the exact number, and prefers a title to the prefix of an id", async () => {
    const lineage = await withTitles(["plan", "plan #2", "plan #3", "PR #438 fix auth", "2026"]);
    const titleOf = async (name: string): Promise<string> =>
      (await lineage.json<{ session: { title: string } }>(["sessions", "show", name])).session.title;
    expect(await titleOf("plan")).toBe("plan #3");
    expect(await titleOf("plan #2")).toBe("plan #2");
    expect(await titleOf("2026")).toBe("2026");
    expect((await lineage.run(["sessions", "show", "PR"])).code).toBe(3);
  });

  it("of another person needs --everyone, which prefers the owner's title", async () => {
    expect((await home.run(["sessions", "show", home.group])).code).toBe(3);
    expect((await home.run(["sessions", "show", home.group, "--everyone"])).code).toBe(0);
    await home.fill(async ({ sessions }) => {
      for (const person of ["p_ann", "p_bob"]) {
        await sessions.create({ person }, { title: "holiday plans" });
        await sessions.create({ person }, { title: "shared name" });
      }
      await sessions.create({ person: "p_ann" }, { title: "only ann" });
    });
    const shown = await home.json<{ session: { id: string } }>([
      "sessions",
      "show",
      "holiday plans",
      "--everyone",
    ]);
    expect(shown.session.id).toBe(home.plansId);
    expect((await home.run(["sessions", "show", "shared name", "--everyone"])).code).toBe(4);
    expect((await home.run(["sessions", "show", "only ann", "--everyone"])).code).toBe(0);
  });
});

describe("postrider sessions show", () => {
  it("shows the fields and the messages in readable form", async () => {
    const { code, out } = await home.run(["sessions", "show", home.plans]);
    expect(code).toBe(0);
    for (const line of [
      /^title +holiday plans$/m,
      new RegExp(`^handle +${home.plans}$`, "m"),
      new RegExp(`^id +${home.plansId}$`, "m"),
      /^kind +chat$/m,
      /^from +no chat$/m,
      /^created .*2h ago/m,
      /^messages +5 stored, 4 shown$/m,
      /^tokens +1,234 \(1,200 in, 34 out\)$/m,
      /^cost +\$0\.0123 \(estimated\)$/m,
      /^#1 Ada /m,
      /^A walk to the lighthouse\nat night: 夜景$/m,
      /^\[image: map\.png, 3 bytes\]$/m,
      /^\[resource: file:\/\/\/tmp\/notes\.txt\]$/m,
      /^→ read_file \{"path":"tides\.txt"\}$/m,
      /^← high tide 21:04 high tide .*…$/m,
    ])
      expect(out).toMatch(line);
    expect(out).not.toContain("never mind");
    const group = await home.run(["sessions", "show", home.group, "--everyone"]);
    expect(group.out).toMatch(/^from +group: -100 \(telegram\)$/m);
  });

  it("shows and marks undone messages with --all", async () => {
    const { out } = await home.run(["sessions", "show", home.plans, "--all"]);
    expect(out).toMatch(/^#5 you .*not shown$/m);
    expect(out).toContain("never mind the café");
  });

  it("shows the last messages with --limit, and those from a number with --at, also undone ones", async () => {
    const last = await home.run(["sessions", "show", home.plans, "--limit", "1"]);
    expect(last.out).toContain("#4 assistant");
    expect(last.out).not.toContain("#3");
    const at = await home.run(["sessions", "show", home.plans, "--at", "4"]);
    expect(at.out).toContain("▶ #4 assistant");
    expect(at.out).not.toContain("#1 ");
    expect((await home.run(["sessions", "show", home.plans, "--at", "5"])).out).toContain("▶ #5 you");
    expect((await home.run(["sessions", "show", home.plans, "--at", "2", "--limit", "1"])).out).not.toContain(
      "#3",
    );
    expect(await home.run(["sessions", "show", home.plans, "--at", "6"])).toMatchObject({ code: 3, out: "" });
  });

  it("prints no control characters of stored messages", async () => {
    const evil = testHome();
    await evil.fill(async ({ sessions }) => {
      const { id } = await sessions.create(me, {});
      await sessions.append(me, id, {
        role: "user",
        text: "\x1b]0;gotcha\x07\x1b[2J \u202e evil \u009b31m\r\nsecond\ttab",
      });
    });
    for (const args of [
      ["list"],
      ["show", "20"],
      ["search", "evil"],
      ["export", "--all", "--format", "md"],
    ]) {
      const { out } = await evil.run(["sessions", ...args]);
      expect(out, args[0]).toContain("evil");
      // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what must not be there
      expect(out, args[0]).not.toMatch(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u202e]/);
    }
  });

  it("shows a fork with the messages from its origin", async () => {
    const { session } = await home.json<{ session: { handle: string } }>([
      "sessions",
      "fork",
      home.plans,
      "--at",
      "1",
    ]);
    const { out } = await home.run(["sessions", "show", session.handle]);
    expect(out).toContain(`from session ${home.plansId}`);
    expect(out).toMatch(new RegExp(`^parent +${home.plansId}$`, "m"));
  });
});

describe("postrider sessions search", () => {
  it("shows session, time and text of a match, and the command that opens it", async () => {
    const { code, out, err } = await home.run(["sessions", "search", "lighthouse"]);
    expect({ code, err }).toEqual({ code: 0, err: "" });
    expect(out).toBe(
      `${home.plans} holiday plans #1 · user · 2h ago\n  A walk to the >>>lighthouse<<<\n  at night: 夜景\n  postrider sessions show ${home.plans} --at 1\n`,
    );
    const colour = await home.run(["sessions", "search", "lighthouse"], { columns: 80 });
    expect(colour.out).toContain("\x1b[1mlighthouse\x1b[22m");
    expect(colour.out).not.toContain(">>>");
    const plain = await home.run(["sessions", "search", "lighthouse"], {
      columns: 80,
      environment: { NO_COLOR: "1" },
    });
    expect(plain.out).toContain(">>>lighthouse<<<");
  });

  it("shows the previous and next message with --context", async () => {
    const { out } = await home.run(["sessions", "search", "hello", "Bob", "--everyone", "--context"]);
    expect(out).toContain("  user: hello everyone");
  });

  it("searches only within the given filters", async () => {
    const found = async (...args: string[]): Promise<number> =>
      (await home.json<{ hits: unknown[] }>(["sessions", "search", ...args])).hits.length;
    expect(await found("hello")).toBe(0);
    expect(await found("hello", "--everyone")).toBe(2);
    expect(await found("hello", "--everyone", "--role", "user")).toBe(1);
    expect(await found("hello", "--everyone", "--limit", "1")).toBe(1);
    expect(await found("hello", "--everyone", "--platform", "telegram")).toBe(2);
    expect(await found("hello", "--everyone", "--platform", "local")).toBe(0);
    expect(await found("hello", "--everyone", "--session", home.plans)).toBe(0);
    expect(await found("café")).toBe(0);
    expect(await found("café", "--undone")).toBe(1);
    expect(await found("cafe", "--undone")).toBe(1);
  });

  it("prints a hint if nothing is found, and refuses a role that is not searched", async () => {
    const none = await home.run(["sessions", "search", "zzz"]);
    expect(none).toMatchObject({ code: 0, out: "" });
    expect(none.err).toContain("--undone");
    expect((await home.run(["sessions", "search", "x", "--role", "tool"])).code).toBe(2);
    expect((await home.run(["sessions", "search"])).code).toBe(2);
    expect((await home.run(["sessions", "search", "x", "--session", "nothing"])).code).toBe(3);
  });

  it.each([
    ["データ", "データベース設計について"],
    ["夜", "at night: 夜景"],
    ["タベ", "データベース設計について"],
  ])("finds %s", async (part) => {
    const { hits } = await home.json<{ hits: { snippet: string }[] }>(["sessions", "search", part]);
    expect(hits[0]?.snippet).toContain(`>>>${part}<<<`);
  });

  it("finds words with hyphens, with or without accents, and single characters", async () => {
    const words = testHome();
    await words.fill(async ({ sessions }) => {
      const { id } = await sessions.create(me, {});
      await sessions.append(me, id, { role: "user", text: "chat-send im Café à la carte, Straße x 7" });
    });
    for (const query of ["chat-send", "chat", "send", "cafe", "CAFÉ", "a", "x", "7", "straße"]) {
      const { hits } = await words.json<{ hits: unknown[] }>(
        ["sessions", "search", "--", query].toSpliced(2, 1),
      );
      expect(hits, query).toHaveLength(1);
    }
  });

  it("finds any part of a Chinese, Japanese, Korean or Thai text", async () => {
    const scripts = [
      "的一是了我不人在他有这上们来到",
      "あいうえおカキクケコデータ設計夜景",
      "가나다라마바사아자차",
      "กขคงจฉชสวัดีภาษไทย",
    ];
    const text = fc
      .constantFrom(...scripts)
      .chain((script) => fc.array(fc.constantFrom(...script), { minLength: 1, maxLength: 30 }))
      .map((characters) => characters.join(""));
    const cases = fc.sample(
      fc.tuple(text, fc.nat(), fc.nat()).map(([said, a, b]) => {
        const characters = [...said];
        const from = a % characters.length;
        const length = 1 + (b % (characters.length - from));
        return { said, part: characters.slice(from, from + length).join("") };
      }),
      { numRuns: 100, seed: 7 },
    );
    const words = testHome();
    await words.fill(async ({ sessions }) => {
      for (const [index, { said }] of cases.entries()) {
        const { id } = await sessions.create(me, { title: `case ${index}` });
        await sessions.append(me, id, { role: "user", text: said });
      }
    });
    for (const [index, { said, part }] of cases.entries()) {
      const name = `case ${index}`;
      const { hits } = await words.json<{ hits: { title: string }[] }>([
        "sessions",
        "search",
        part,
        "--session",
        name,
      ]);
      expect(
        hits.map(({ title }) => title),
        `${part} in ${said}`,
      ).toEqual([name]);
    }
  });

  it("accepts any text as a query", async () => {
    const known = [
      "C++",
      '"unterminated',
      "(problem",
      "hello AND",
      "***",
      "{test}",
      "OR hello",
      "a AND OR b",
      "NEAR(",
      "col:x",
      "^x",
      "\0",
      "'",
    ];
    const queries = [
      ...known,
      ...fc.sample(fc.string({ unit: "grapheme", maxLength: 60 }), 200),
      ...fc.sample(fc.string({ unit: "binary", maxLength: 60 }), 100),
    ];
    for (const query of queries) {
      const { code, err } = await home.run(["sessions", "search", "--json", "--", query]);
      expect({ code, err }, JSON.stringify(query)).toEqual({ code: 0, err: "" });
    }
  });
});

describe("postrider sessions rename", () => {
  it("sets a title of several words, and clears it", async () => {
    expect((await home.run(["sessions", "rename", home.plans, "夜景", "👍", "plans"])).out).toBe(
      `The title of ${home.plans} is now "夜景 👍 plans".\n`,
    );
    expect((await home.run(["sessions", "show", "夜景 👍 plans"])).code).toBe(0);
    expect((await home.run(["sessions", "rename", home.plans, "--clear"])).out).toContain("has no title now");
    expect((await home.run(["sessions", "show", "夜景 👍 plans"])).code).toBe(3);
  });

  it("refuses an existing, a too long and a missing title", async () => {
    expect(await home.run(["sessions", "rename", home.old, "holiday plans"])).toMatchObject({
      code: 5,
      out: "",
    });
    expect((await home.run(["sessions", "rename", home.old, "x".repeat(101)])).code).toBe(1);
    expect((await home.run(["sessions", "rename", home.old])).code).toBe(2);
    expect((await home.run(["sessions", "rename", home.old, " "])).code).toBe(2);
    expect((await home.run(["sessions", "rename", home.old, "x", "--clear"])).code).toBe(2);
    expect((await home.run(["sessions", "rename", "nothing", "x"])).code).toBe(3);
  });
});

describe("postrider sessions fork", () => {
  it("creates a session with the same messages and the next number of the title", async () => {
    const { out } = await home.run(["sessions", "fork", home.plans]);
    const [, handle = ""] = /^"holiday plans #2" \((\w+)\)/.exec(out) ?? [];
    expect(out).toContain(`postrider -r ${handle}`);
    expect((await home.run(["sessions", "show", handle])).out).toContain("High tide is at 21:04.");
  });

  it("keeps the messages up to a number with --at, and sets a title with --title", async () => {
    const { session } = await home.json<{ session: { handle: string; title: string } }>([
      "sessions",
      "fork",
      home.plans,
      "--at",
      "2",
      "--title",
      "plan B",
    ]);
    expect(session.title).toBe("plan B");
    const { messages } = await home.json<{ messages: { seq: number }[] }>([
      "sessions",
      "show",
      session.handle,
    ]);
    expect(messages.map(({ seq }) => seq)).toEqual([1, 2]);
    expect((await home.run(["sessions", "fork", home.plans, "--at", "9"])).code).toBe(3);
    const taken = await home.run(["sessions", "fork", home.plans, "--title", "holiday plans"]);
    expect(taken.out).toContain("holiday plans #2");
  });
});

describe("postrider sessions archive", () => {
  it("archives several sessions or none, and lists them again", async () => {
    expect((await home.run(["sessions", "archive", home.plans, "nothing"])).code).toBe(3);
    expect((await home.run(["sessions", "list", "--archived"])).out).toBe("");
    const { out } = await home.run(["sessions", "archive", home.plans, home.old]);
    expect(out).toBe(`"holiday plans" (${home.plans}) is archived.\n${home.old} is archived.\n`);
    expect((await home.run(["sessions", "search", "lighthouse"])).out).toContain(home.plans);
    expect((await home.run(["sessions", "unarchive", home.plans])).out).toContain("is listed again");
    expect((await home.run(["sessions", "list"])).out).toContain("holiday plans");
  });
});

describe("postrider sessions delete", () => {
  it("shows the messages to be deleted, also pending ones, and deletes nothing without a confirmation", async () => {
    const { code, out, err } = await home.run(["sessions", "delete", home.group, "--everyone"]);
    expect({ code, out }).toEqual({ code: 5, out: "" });
    expect(err).toContain("2 messages");
    expect(err).toContain("pending: are you there?");
    expect(err).toContain("--yes");
    expect((await home.run(["sessions", "show", home.group, "--everyone"])).code).toBe(0);
  });

  it.each([
    ["y", 0],
    ["YES", 0],
    ["n", 1],
    ["", 1],
    ["yeah", 1],
  ])("asks for confirmation, with the answer %j", async (answer, code) => {
    const ran = await home.run(["sessions", "delete", home.plans], {
      isTerminal: true,
      input: `${answer}\n`,
    });
    expect(ran.code).toBe(code);
    expect((await home.run(["sessions", "show", home.plans])).code).toBe(code === 0 ? 3 : 0);
    expect(ran.err.includes("Nothing was changed")).toBe(code !== 0);
  });

  it("deletes several sessions with --yes, or none if one is unknown", async () => {
    expect((await home.run(["sessions", "delete", home.plans, "nothing", "--yes"])).code).toBe(3);
    const { out } = await home.run(["sessions", "delete", home.plans, "holiday plans", home.old, "-y"]);
    expect(out).toBe(`"holiday plans" (${home.plans}) is deleted.\n${home.old} is deleted.\n`);
    expect((await home.run(["sessions", "search", "lighthouse", "--undone"])).out).toBe("");
  });
});

describe("postrider sessions prune", () => {
  it("lists the sessions to be deleted, and deletes them with --yes", async () => {
    const dry = await home.run(["sessions", "prune"]);
    expect(dry.out).toContain(home.old);
    expect(dry.err).toContain("--yes");
    expect((await home.run(["sessions", "show", home.old])).code).toBe(0);
    expect((await home.run(["sessions", "prune", "--older-than", "101"])).err).toContain(
      "There is nothing to delete",
    );
    expect((await home.run(["sessions", "prune", "--platform", "telegram"])).err).toContain(
      "There is nothing to delete",
    );
    expect((await home.run(["sessions", "prune", "--kind", "job"])).err).toContain(
      "There is nothing to delete",
    );
    const done = await home.run(["sessions", "prune", "--yes"]);
    expect(done.err).toContain("1 session deleted.");
    expect((await home.run(["sessions", "show", home.old])).code).toBe(3);
    expect((await home.run(["sessions", "show", home.plans])).code).toBe(0);
  });
});

describe("postrider sessions stats", () => {
  it("counts the owner's sessions, and all with --everyone", async () => {
    const { out } = await home.run(["sessions", "stats"]);
    expect(out).toMatch(/^sessions +3$/m);
    expect(out).toMatch(/^by platform +local 2, none 1$/m);
    expect(out).toContain(home.database);
    const all = await home.json(["sessions", "stats", "--everyone"]);
    expect(all).toMatchObject({ sessions: 4, by_kind: { chat: 4 }, bytes: statSync(home.database).size });
    expect(all.by_owner).toMatchObject({ owner: 3 });
  });
});

describe("postrider insights", () => {
  it("shows messages and usage by day, and those of all people with --everyone", async () => {
    const { out } = await home.run(["insights", "--days", "3650"]);
    expect(out).toMatch(/^sessions +2$/m);
    expect(out).toMatch(/^tokens +1,234$/m);
    expect(out).toMatch(/^cost +\$0\.0123 \(estimated\)$/m);
    expect(out).toMatch(/^2026-03-1\d +1,234 tokens, \$0\.0123 \(estimated\)$/m);
    const own = await home.json(["insights", "--days", "3650"]);
    const all = await home.json(["insights", "--days", "3650", "--everyone"]);
    expect([own.sessions, all.sessions]).toEqual([2, 3]);
    expect(all.usage).toMatchObject({ input_tokens: 1200, total_tokens: 1234, cost_status: "estimated" });
    expect(all.usage_by_purpose).toMatchObject([{ purpose: "answer", total_tokens: 1234 }]);
    expect(all.usage_by_day).toMatchObject([{ total_tokens: 1234 }]);
  });

  it.each(["0", "3651", "many"])("refuses --days %s", async (days) => {
    const { code, out, err } = await home.run(["insights", "--days", days]);
    expect({ code, out }).toEqual({ code: 2, out: "" });
    expect(err).toContain("--days");
  });
});

describe("postrider sessions export and import", () => {
  it("recreate an equal home", async () => {
    const file = join(home.folder, "all.jsonl");
    await home.run(["sessions", "fork", home.plans]);
    await home.run(["sessions", "archive", home.old]);
    const written = await home.run(["sessions", "export", "--all", "--everyone", "--output", file]);
    expect(written).toMatchObject({ code: 0, err: "" });
    expect(written.out).toContain("5 sessions");
    const [, messages] = /(\d+) messages/.exec(written.out) ?? [];
    expect(statSync(file).mode & 0o777).toBe(0o600);
    const other = testHome();
    const taken = await other.run(["sessions", "import", file]);
    expect(taken.code).toBe(0);
    expect(taken.out).toContain(`5 imported (${messages} messages)`);
    expect(taken.err).toContain("other people");
    const again = await other.run(["sessions", "export", "--all", "--everyone"]);
    const sessions = (text: string): unknown[] =>
      text
        .trimEnd()
        .split("\n")
        .map((line) => {
          const { session, messages, ...rest } = JSON.parse(line);
          // A handle belongs to a home; what a fork borrowed is its own after an import.
          const { handle: _, ...kept } = session;
          const said = messages.map(
            ({ session: _, seq: __, ...message }: Record<string, unknown>) => message,
          );
          return { ...rest, session: kept, messages: said };
        });
    expect(sessions(again.out)).toEqual(sessions(readFileSync(file, "utf8")));
    const third = await other.run(["sessions", "import", file]);
    expect(third.out).toContain("0 imported (0 messages), 5 already exist, 0 failed.");
    expect(third.err).toContain(home.plansId);
  });

  it("write a complete file or none, and overwrite a file only with --force", async () => {
    const file = join(home.folder, "one.jsonl");
    writeFileSync(file, "mine");
    const refused = await home.run(["sessions", "export", home.plans, "-o", file]);
    expect(refused).toMatchObject({ code: 5, out: "" });
    expect(refused.err).toContain("--force");
    expect(readFileSync(file, "utf8")).toBe("mine");
    expect((await home.run(["sessions", "export", home.plans, "-o", file, "--force"])).code).toBe(0);
    expect(JSON.parse(readFileSync(file, "utf8"))).toMatchObject({ format: "postrider.session" });
    expect(statSync(file).mode & 0o777).toBe(0o600);
    const unknown = join(home.folder, "two.jsonl");
    expect((await home.run(["sessions", "export", home.plans, "nothing", "-o", unknown])).code).toBe(3);
    expect(existsSync(unknown)).toBe(false);
    expect(readdirSync(home.folder).filter((name) => name.includes(".new-"))).toEqual([]);
    const nowhere = await home.run(["sessions", "export", home.plans, "-o", join(home.folder, "no", "x")]);
    expect(nowhere).toMatchObject({ code: 1, out: "" });
    expect(nowhere.err).toMatch(/^postrider: Cannot write /);
  });

  it("write readable Markdown", async () => {
    const { out } = await home.run(["sessions", "export", home.plans, "--format", "md"]);
    expect(out).toMatch(/^# holiday plans\n/);
    expect(out).toContain("## Agent, ");
    expect(out).toContain("A walk to the lighthouse");
    expect(out).not.toContain("never mind");
  });

  it("report an invalid line, and import the others", async () => {
    const { out: good } = await home.run(["sessions", "export", home.plans, home.old]);
    const [first = "", second = ""] = good.split("\n");
    const other = testHome();
    const lines = [
      "{broken",
      first,
      "",
      '{"format":"x"}',
      second.replace('"seq":1', '"seq":1,\u2028 "note":null').replace("\u2028", " "),
    ];
    const ran = await other.run(["sessions", "import", "-"], { input: lines.join("\n") });
    expect(ran).toMatchObject({ code: 1, out: "2 imported (6 messages), 0 already exist, 2 failed.\n" });
    expect(ran.err).toContain("line 1: The line is not JSON");
    expect(ran.err).toContain("line 4: ");
    expect((await other.run(["sessions", "import", join(other.folder, "none")])).code).toBe(3);
    expect((await other.run(["sessions", "import", other.folder])).code).toBe(1);
  });

  it("keep line separators inside a text", async () => {
    const odd = testHome();
    await odd.fill(async ({ sessions }) => {
      const { id } = await sessions.create(me, {});
      await sessions.append(me, id, { role: "user", text: "one\u2028two\u2029three\r\nfour" });
    });
    const { out } = await odd.run(["sessions", "export", "--all"]);
    const other = testHome();
    expect((await other.run(["sessions", "import", "-"], { input: out })).code).toBe(0);
    const { sessions } = await other.json<{ sessions: { id: string }[] }>(["sessions", "list"]);
    const { messages } = await other.json<{ messages: { parts: { text: string }[] }[] }>([
      "sessions",
      "show",
      sessions[0]?.id ?? "",
    ]);
    expect(messages[0]?.parts[0]?.text).toBe("one\u2028two\u2029three\r\nfour");
  });

  it.each([
    [["sessions", "export"]],
    [["sessions", "export", "--all", "x"]],
    [["sessions", "export", "--all", "--format", "html"]],
    [["sessions", "export", "--all", "--json"]],
    [["sessions", "import"]],
  ])("refuse %j with exit code 2", async (args) => {
    expect(await home.run(args)).toMatchObject({ code: 2, out: "" });
  });
});

describe("postrider explain", () => {
  it("shows the origin of a session, its rules, and when it is reset", async () => {
    const { out, code } = await home.run(["explain", home.group, "--everyone"]);
    expect(code).toBe(0);
    for (const words of [
      "agent:main:telegram:group:-100:42",
      "each account in a group has its own conversation",
      "Bob, 42",
      "after 1440 minutes of silence, and daily at 04:00",
      "idle before",
      "daily before",
      "at the daily hour",
      "1 pending message",
      "began",
      "turn 1, attempt 1: done",
      "delivery 1 to telegram -100: sending",
    ])
      expect(out).toContain(words);
  });

  it("shows why a chat left a session, and that a session without a chat is never reset", async () => {
    const left = await home.run(["explain", home.old]);
    expect(left.out).toContain("a person started a new session");
    expect(left.out).toContain(`postrider -r ${home.old}`);
    expect(left.out).toContain("a new session was asked for");
    const alone = await home.run(["explain", home.plans]);
    expect(alone.out).toContain("nothing resets it");
    expect(alone.out).toMatch(/version \d+, undo/);
    expect(alone.out).toContain("export until");
  });

  it("shows a due reset with the times that it compares", async () => {
    type Output = {
      conversations: { due: string | null; active_at: number; idle_before: number; kept_by: string[] }[];
    };
    const due = async (now: number): Promise<Output["conversations"][number] | undefined> =>
      (await home.json<Output>(["explain", home.group, "--everyone"], { now })).conversations[0];
    await home.run(["config", "set", "timezone", "UTC"]); // the tests' own zone changes with the hour
    expect((await due(NOW))?.due).toBeNull();
    const later = await due(NOW + 2 * DAY);
    expect(later).toMatchObject({ due: "idle", kept_by: ["1 pending message"] });
    expect(later?.active_at).toBeLessThan(later?.idle_before ?? 0);
  });

  it("shows how a message arrived, by its number or by the platform's id", async () => {
    const byPlace = await home.run(["explain", `${home.group}/1`, "--everyone"]);
    expect(byPlace.out).toContain("hello everyone");
    expect(byPlace.out).toContain("Received from telegram, chat -100, as its message 17");
    expect(byPlace.out).toContain("it was answered");
    const waiting = await home.run(["explain", "telegram:-100:18", "--everyone"]);
    expect(waiting.out).toContain("it is pending");
    expect(waiting.out).toContain("agent:main:telegram:group:-100:42");
    expect((await home.run(["explain", `${home.plans}/4`])).out).toContain("It was created here");
    expect((await home.run(["explain", `${home.plans}/1`])).out).toContain("A program added it");
  });

  it("lists every conversation with a key", async () => {
    const { out } = await home.run(["explain", "agent:main:local:dm:cli"]);
    expect(out).toContain("One conversation has the key agent:main:local:dm:cli.");
    expect(out).toContain("a direct chat has one person");
  });

  it.each([
    ["nothing", 3],
    ["agent:main:telegram:dm:1", 3],
    ["agent:main", 1],
    ["telegram:-100:99", 3],
    ["holiday plans/99", 3],
    ["telegram:-100:17", 3],
  ])("reports that %j is unknown", async (what, code) => {
    expect(await home.run(["explain", what])).toMatchObject({ code, out: "" });
  });
});

describe("postrider key", () => {
  const group = {
    platform: "telegram",
    chat_type: "group",
    chat_id: -1002285219667,
    thread_id: 17585,
    user_id: 42,
  };

  it.each([
    [[], "agent:main:telegram:group:-1002285219667:17585:42"],
    [["--groups-shared"], "agent:main:telegram:group:-1002285219667:17585"],
    [["--threads-shared"], "agent:main:telegram:group:-1002285219667:17585"],
    [["--profile", "work"], "agent:work:telegram:group:-1002285219667:17585:42"],
  ])("with %j is %s", async (options, key) => {
    expect((await home.json(["key", JSON.stringify(group), ...options])).key).toBe(key);
    const { out } = await home.run(["key", "-", ...options], { input: JSON.stringify(group) });
    expect(out.split("\n")[0]).toBe(key);
    expect(out).toMatch(/^thread +17585 +each thread/m);
  });

  it.each([["{"], ["[]"], ['{"platform":"telegram"}'], ['{"platform":"Telegram","chat_id":1}'], ["null"]])(
    "refuses %s with one sentence",
    async (source) => {
      const { code, out, err } = await home.run(["key", source]);
      expect({ code, out }).toEqual({ code: 1, out: "" });
      expect(err).toMatch(/^postrider: .+\.\n$/);
    },
  );
});

describe("an unusable home", () => {
  it("is reported in one sentence, with exit code 1", async () => {
    const file = join(home.folder, "file");
    writeFileSync(file, "");
    const environment = { POSTRIDER_HOME: join(file, "home") };
    for (const args of [
      ["sessions", "list"],
      ["sessions", "stats"],
      ["explain", "x"],
    ]) {
      const { code, out, err } = await home.run(args, { environment });
      expect({ code, out }).toEqual({ code: 1, out: "" });
      expect(err).toMatch(/^postrider: [^\n]+\n$/);
    }
  });

  it.each([0, 100, 5000])("with a database of %i bytes is reported and not changed", async (size) => {
    truncateSync(home.database, size);
    const { code, out, err } = await home.run(["sessions", "list", "--json"]);
    expect({ code, out }).toEqual({ code: 1, out: "" });
    expect(JSON.parse(err).error.code).toBe("corrupt");
    expect(statSync(home.database).size).toBe(size);
  });
});

describe("the postrider executable", () => {
  it("gives the same results as in-process, and leaves only the database", async () => {
    const own = await withTitles(["holiday plans"]);
    const { code, out, err } = await cli(own.folder, "sessions", "list");
    expect({ code, err }).toEqual({ code: 0, err: "" });
    expect(out).toContain("holiday plans");
    expect(readdirSync(own.folder)).toEqual(["postrider.db"]);
    expect((await cli(own.folder, "sessions", "show", "nothing")).code).toBe(3);
    expect((await cli(own.folder, "sessions", "rename", "holiday plans", "other")).code).toBe(0);
    expect(readdirSync(own.folder)).toEqual(["postrider.db"]);
  });

  it("prints no error when its output is closed early", async () => {
    const many = await withTitles(Array.from({ length: 200 }, (_, n) => `${n} ${"long ".repeat(15)}`));
    const { ended } = startCli(many.folder, ["sessions", "list", "--limit", "200"], (command) => [
      "bash",
      "-c",
      'set -o pipefail; "$0" "$@" | head -1',
      ...command,
    ]);
    const { out, err } = await ended;
    expect(err).toBe("");
    expect(out.split("\n")).toHaveLength(2);
  });
});
