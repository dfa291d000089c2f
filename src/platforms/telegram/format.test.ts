import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { cpuMsOf } from "../../../test/support/cpu-time.ts";
import { parseHtml } from "../../testing/fake-telegram/index.ts";
import { toHtml } from "./format.ts";

describe("what models write", () => {
  it.each([
    ["**bold** and __very bold__", "<b>bold</b> and <b>very bold</b>"],
    ["*it* and _it_", "<i>it</i> and <i>it</i>"],
    ["***both***", "<b><i>both</i></b>"],
    ["**bold *and it***", "<b>bold <i>and it</i></b>"],
    ["*it **and bold***", "<i>it <b>and bold</b></i>"],
    ["~~gone~~", "<s>gone</s>"],
    ["run `a < b` now", "run <code>a &lt; b</code> now"],
    ["``a ` b``", "<code>a ` b</code>"],
    ["[docs](https://a.example/x?a=1&b=2)", '<a href="https://a.example/x?a=1&amp;b=2">docs</a>'],
    ["[a (b)](https://x.example/a_(b))", '<a href="https://x.example/a_(b)">a (b)</a>'],
    ["![chart](https://x.example/c.png)", '<a href="https://x.example/c.png">chart</a>'],
    ["[file](src/main.ts)", "file (src/main.ts)"],
    ["<https://x.example>", "https://x.example"],
    ["# Title\ntext", "<b>Title</b>\ntext"],
    ["## A **bold** title ##", "<b>A bold title</b>"],
    ["- one\n* two\n  + three", "• one\n• two\n  • three"],
    ["- [ ] open\n- [x] done", "• ☐ open\n• ☑ done"],
    ["1. one\n2. two", "1. one\n2. two"],
    ["> quoted\n> **more**\n\nafter", "<blockquote>quoted\n<b>more</b></blockquote>\n\nafter"],
    ["> > deep", "<blockquote>deep</blockquote>"],
    ["---", "———"],
    ["```ts\nif (a < b) {}\n```", '<pre><code class="language-ts">if (a &lt; b) {}</code></pre>'],
    ["```\n**raw**\n```\nafter", "<pre>**raw**</pre>\nafter"],
    ["| a | b |\n|---|---|\n| 1 | 2 |", "<pre>| a | b |\n|---|---|\n| 1 | 2 |</pre>"],
  ])("%j is formatted", (markdown, html) => {
    expect(toHtml(markdown).html).toBe(html);
  });

  it.each([
    "2 * 3 * 4 = 24",
    "snake_case_name and __init__.py_",
    "https://x.example/a_b_c?d=*",
    "a < b && c > d",
    "**not closed",
    "*",
    "**",
    "[no link](",
    "_ _",
  ])("%j stays as it is", (text) => {
    expect(toHtml(text).text).toBe(text);
  });

  it("an escaped mark is plain text", () => {
    expect(toHtml("\\*no\\* 1\\. \\a")).toEqual({ html: "*no* 1. \\a", text: "*no* 1. \\a" });
  });

  it("an unclosed code block is code", () => {
    expect(toHtml("look:\n```py\nprint(1)").html).toBe(
      'look:\n<pre><code class="language-py">print(1)</code></pre>',
    );
  });

  it("a URL cannot break out of its attribute", () => {
    expect(toHtml('[x](https://a.example/"onclick="y)').html).toBe(
      '<a href="https://a.example/&quot;onclick=&quot;y">x</a>',
    );
  });
});

describe("any text", () => {
  const marks = fc.constantFrom(
    ...'* ** *** _ __ ~~ ~ ` `` ``` [ ] ( ) ![ ](https://x.example) \\ < > & " # ## - + > | |- --- <b> </b> &amp; 1.'.split(
      " ",
    ),
    "\n",
    "\n\n",
    "\n```\n",
    "\n> ",
    "\n- ",
    "\n|-|-|\n",
    " ",
    "\ud800",
    "👩🏽‍🚀",
  );
  const written = fc.oneof(
    fc.string({ unit: "binary", maxLength: 200 }),
    fc.array(fc.oneof(marks, fc.string({ maxLength: 4 })), { maxLength: 60 }).map((parts) => parts.join("")),
  );

  it("becomes HTML that Telegram accepts, with the same visible text", () => {
    fc.assert(
      fc.property(written, (markdown) => {
        const { html, text } = toHtml(markdown);
        expect(parseHtml(html)).toEqual({ text });
      }),
      { numRuns: 5000 },
    );
  });

  it("is never longer than the input", () => {
    fc.assert(
      fc.property(written, (markdown) => {
        expect(toHtml(markdown).text.length).toBeLessThanOrEqual(markdown.length);
      }),
      { numRuns: 5000 },
    );
  });

  it("without marks stays unchanged", () => {
    const plain = fc.string({
      unit: fc.constantFrom(..."abc äß 日本 123,;:'\"%$€/=?&<>^".split("")),
      maxLength: 100,
    });
    fc.assert(
      fc.property(plain, (text) => {
        fc.pre(!/^ {0,3}>/m.test(text) && !/<https?:/.test(text));
        expect(toHtml(text).text).toBe(text);
      }),
    );
  });

  it("of the worst kind and the maximum length is processed quickly", () => {
    const took = cpuMsOf(() => {
      for (const worst of ["*", "**a", "_a ", "[", "![a](", "`", "``a`", "> ", "*_~~[", "\\*", "<", "h"]) {
        toHtml(worst.repeat(Math.ceil(4096 / worst.length)));
      }
    });
    expect(took).toBeLessThan(2000);
  });
});
