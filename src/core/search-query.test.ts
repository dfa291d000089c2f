import Database from "better-sqlite3";
import fc from "fast-check";
import { afterAll, describe, expect, it } from "vitest";
import { toFts5 } from "./fts5-query.ts";
import { FTS5_TOKENIZE, MAX_QUERY_TERMS, matchesQuery, parseQuery } from "./search-query.ts";
import { buildIndexText, extractTerms } from "./search-terms.ts";

const db = new Database(":memory:");
db.exec(
  `create virtual table t using fts5(x, tokenize="${FTS5_TOKENIZE}", content='');
   create virtual table v using fts5vocab(t, 'instance')`,
);
const clear = db.prepare("insert into t(t) values ('delete-all')");
const insert = db.prepare("insert into t(rowid, x) values (?, ?)");
const select = db.prepare<[string], number>("select rowid from t where t match ? order by rowid").pluck();
const vocabulary = db.prepare<[], string>("select term from v where doc = 1 order by offset").pluck();
afterAll(() => db.close());

/** The texts that the real index finds. */
function indexFinds(query: string, texts: readonly string[]): number[] {
  clear.run();
  for (const [i, text] of texts.entries()) insert.run(i, buildIndexText(text));
  const match = toFts5(parseQuery(query));
  return match === undefined ? [] : select.all(match);
}

function scanFinds(query: string, texts: readonly string[]): number[] {
  const parsed = parseQuery(query);
  return [...texts.keys()].filter((i) => matchesQuery(parsed, extractTerms(texts[i] ?? "")));
}

function finds(query: string, text: string): boolean {
  const found = scanFinds(query, [text]).length > 0;
  expect(indexFinds(query, [text]).length > 0).toBe(found);
  return found;
}

describe("a search query", () => {
  it.each([
    ["hello world", "the world says hello", true],
    ["hello world", "hello there", false],
    ["hello AND", "say hello", true],
    ["hello AND world", "hello world", true],
    ["OR world", "the world", true],
    ["OR hello", "hello", true],
    ["a AND OR b", "only b here", true],
    ["C++", "we use C and C++", true],
    ['"unterminated', "an unterminated line", true],
    ['"unterminated line', "line one was unterminated", true],
    ["(problem", "a problem here", true],
    ["{test}", "this is a test", true],
    ["a:b ^c NEAR(d)", "a b c near d", true],
    ["don't", "I don't know", true],
    ["***", "anything", false],
    ["", "anything", false],
    ["-", "anything", false],
    ["AND OR NOT", "and or not", false],
    ["and or not", "and or not", true],
  ])("%j in %j: %s", (query, text, expected) => {
    expect(finds(query, text)).toBe(expected);
  });

  it("finds a phrase only in its order", () => {
    expect(finds('"exact phrase"', "an exact phrase here")).toBe(true);
    expect(finds('"exact phrase"', "a phrase that is exact")).toBe(false);
    expect(finds("“exact phrase”", "a phrase that is exact")).toBe(false);
    expect(finds('"exact phrase" other', "other: exact phrase")).toBe(true);
  });

  it("reads a word with a hyphen, a dot or an underscore as a phrase", () => {
    for (const query of ["chat-send", "chat.send", "chat_send"]) {
      expect(finds(query, "run chat-send now")).toBe(true);
      expect(finds(query, "send it to the chat")).toBe(false);
    }
  });

  it("finds a prefix with a star", () => {
    expect(finds("deploy*", "the deployment failed")).toBe(true);
    expect(finds("deploy", "the deployment failed")).toBe(false);
    expect(finds("deploy**", "the deployment failed")).toBe(true);
    expect(finds('"the dep"*', "the deployment failed")).toBe(true);
    expect(finds("*ment", "the deployment failed")).toBe(false);
    expect(finds("C++*", "cat")).toBe(false);
  });

  it("excludes terms after a minus or NOT", () => {
    for (const query of ["cat -dog", "cat NOT dog", "-dog cat", 'cat -"dog"', "cat AND NOT dog"]) {
      expect(finds(query, "a cat")).toBe(true);
      expect(finds(query, "a cat and a dog")).toBe(false);
    }
    expect(finds('cat -"big dog"', "a cat, a dog, big")).toBe(true);
    expect(finds("cat -do*", "cat dog")).toBe(false);
    expect(finds("-dog", "a cat")).toBe(false);
    expect(finds("cat OR -dog", "a bird")).toBe(false);
    expect(finds("-OR cat", "cat or dog")).toBe(false);
  });

  it("does not treat an option's name as a minus", () => {
    expect(finds("--verbose", "run it with --verbose")).toBe(true);
    expect(finds("well-known -", "a well-known thing")).toBe(true);
  });

  it("binds words closer than OR", () => {
    const texts = ["red car", "blue bike", "red bike", "blue"];
    expect(scanFinds("red car OR blue bike", texts)).toEqual([0, 1]);
    expect(indexFinds("red car OR blue bike", texts)).toEqual([0, 1]);
    expect(scanFinds("red -car OR blue", texts)).toEqual([1, 2, 3]);
    expect(indexFinds("red -car OR blue", texts)).toEqual([1, 2, 3]);
  });

  it("finds any part of a text in a script without spaces", () => {
    expect(finds("京タ", "昨日、東京タワーへ行った")).toBe(true);
    expect(finds("タ京", "昨日、東京タワーへ行った")).toBe(false);
    expect(finds("存储设计", "会话存储设计讨论")).toBe(true);
    expect(finds("ไทย", "ภาษาไทยที่ดี")).toBe(true);
    expect(finds("iPhone手机", "我的IPHONE手机坏了")).toBe(true);
  });

  it("keeps phrases and prefixes in the query that the index gets", () => {
    expect(toFts5(parseQuery('"a b" deploy* -x'))).toBe('(("a b" AND "deploy" *) NOT ("x"))');
    expect(toFts5(parseQuery("東京 OR b"))).toBe('("東 京") OR ("b")');
    expect(toFts5(parseQuery("-only"))).toBeUndefined();
    expect(toFts5({ alternatives: [{ required: [{ terms: ['a"b'], prefix: false }], excluded: [] }] })).toBe(
      '("a""b")',
    );
  });
});

describe("any query", () => {
  const rare = fc.constantFrom(
    ..."a b ab abc b-a é e ß ss Σ σ ς й и 中 文 中文 が か ｶﾞ ก กำ ำ 한 한국 ㅋ 1 ½ \u0301 ﬁ ﷺ 𝐀 😀 ' ( ) { } ^ : + * ** , . \\ \u0000 \ud800 𞤀 ꭰ Ꭰ ǅ".split(
      " ",
    ),
  );
  const word = fc.oneof(fc.constantFrom("a", "b", "ab", "abc", "中", "文", "中文"), rare);
  const operator = fc.constantFrom(
    "OR",
    "AND",
    "NOT",
    "NEAR",
    "-",
    '"',
    '"',
    "“",
    "*",
    "-a",
    "ab*",
    '-"a b"',
    "\n",
  );
  const typed = fc
    .array(fc.tuple(fc.oneof(word, operator), fc.constantFrom(" ", " ", "")), { maxLength: 6 })
    .map((items) => items.flat().join(""));
  const written = fc
    .array(fc.tuple(word, fc.constantFrom(" ", " ", "")), { minLength: 4, maxLength: 16, size: "max" })
    .map((items) => items.flat().join(""));
  const anything = fc.oneof(typed, fc.string({ unit: "binary" }), fc.string({ unit: "grapheme" }));

  it("never fails, neither in the parser nor in the index", () => {
    fc.assert(
      fc.property(anything, (query) => {
        const match = toFts5(parseQuery(query));
        if (match !== undefined) select.all(match);
        matchesQuery(parseQuery(query), ["a"]);
      }),
      { numRuns: 3000 },
    );
  });

  it("matches an unindexed text exactly like the index", () => {
    let hits = 0;
    fc.assert(
      fc.property(typed, fc.array(written, { minLength: 1, maxLength: 6 }), (query, texts) => {
        const found = scanFinds(query, texts);
        hits += found.length;
        expect(indexFinds(query, texts)).toEqual(found);
      }),
      { numRuns: 3000 },
    );
    expect(hits).toBeGreaterThan(200);
  });

  it("finds a text by any sequence of its words", () => {
    fc.assert(
      fc.property(
        fc.oneof(written, fc.string({ unit: "grapheme" })),
        fc.nat(),
        fc.nat(),
        (text, from, to) => {
          const terms = extractTerms(text);
          const part = terms.slice(from % (terms.length + 1)).slice(0, (to % 5) + 1);
          if (part.length > 0) expect(finds(`"${part.join(" ")}"`, text)).toBe(true);
        },
      ),
      { numRuns: 1000 },
    );
  });

  it("has terms that the index never splits, joins or changes, in all of Unicode", () => {
    const terms: string[] = [];
    for (let code = 0; code <= 0x10ffff; code++) {
      const char = String.fromCodePoint(code);
      if (!/[\p{Cn}\p{Co}]/u.test(char)) terms.push(...extractTerms(`x${char} ${char}`));
    }
    clear.run();
    insert.run(1, terms.join(" "));
    const indexed = vocabulary.all();
    expect(indexed.length).toBe(terms.length);
    expect(indexed.join(" ") === terms.join(" ")).toBe(true);
  });

  it("uses only the start of a long text", () => {
    clear.run();
    for (const page of ["word ", "a OR ", "-a b OR ", "b -a ", '"a b" ', "a-b-c-d-", "x* ", "中文"]) {
      const query = parseQuery(page.repeat(10_000));
      const clauses = query.alternatives.flatMap(({ required, excluded }) => [...required, ...excluded]);
      const terms = clauses.flatMap((clause) => clause.terms);
      expect(terms.length).toBeLessThanOrEqual(MAX_QUERY_TERMS);
      expect(() => select.all(toFts5(query) ?? "")).not.toThrow();
    }
    expect(finds("中文".repeat(100), "中文".repeat(100))).toBe(true);
    expect(finds(`cat -${"a-".repeat(100)}`, `${"a-".repeat(70)}cat`)).toBe(true);
  });
});
