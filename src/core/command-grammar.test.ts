import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { findCommand, findNearestName, parseCommand, unescapeSlash } from "./command-grammar.ts";

describe("a line", () => {
  it.each([
    ["/resume holiday plans", "resume", "holiday plans"],
    ["/NEW", "new", ""],
    ["/help@mybot", "help", ""],
    ["/title@my_bot  Über uns ", "title", "Über uns"],
    ["/undo   \n", "undo", ""],
    ["/search 休日 ☕️", "search", "休日 ☕️"],
    ["/ÜBER uns", "über", "uns"],
    ["/set-home", "set-home", ""],
    ["/title one\ntwo\n\nthree", "title", "one\ntwo\n\nthree"],
    ["/title\none", "title", "one"],
    ["/", "", ""],
    ["/ new", "", "new"],
  ])("%j is the command /%s with %j", (line, name, args) => {
    expect(parseCommand(line)).toEqual({ name, args });
  });

  it.each(["/etc/hosts", "/etc/hosts is gone", " /undo", "//undo", "hello /new", "", "/undo.", "\n/undo"])(
    "%j is a message",
    (line) => {
      expect(parseCommand(line)).toBeUndefined();
    },
  );

  it("that looks like a command is a message with its slash doubled, and no other text loses a slash", () => {
    expect(unescapeSlash("//undo it")).toBe("/undo it");
    for (const line of ["/etc/hosts", "//etc/hosts", "///undo", "hello //undo", "//"])
      expect(unescapeSlash(line)).toBe(line === "//" ? "/" : line);
  });

  it("is parsed without errors for any text, and a command is returned as it was written", () => {
    fc.assert(
      fc.property(
        fc.oneof(
          fc.string({ unit: "binary" }),
          fc.string({ unit: "binary" }).map((text) => `/${text}`),
        ),
        (text) => {
          const command = parseCommand(text);
          if (command === undefined) return true;
          expect(text.startsWith("/")).toBe(true);
          expect(command.name).not.toMatch(/[\s/@A-Z]/);
          expect(command.args).toBe(command.args.trim());
          expect(text.includes(command.args)).toBe(true);
          return true;
        },
      ),
    );
  });

  it("is parsed quickly at any length", () => {
    const long = `/title ${" x".repeat(500_000)} `;
    expect(parseCommand(long)?.args).toHaveLength(999_999);
    expect(parseCommand(`/${"a".repeat(1_000_000)}.`)).toBeUndefined();
  });
});

describe("a command", () => {
  const table = [{ name: "new", aliases: ["reset"] }, { name: "undo" }];

  it("is found by its name or an alias, and by nothing else", () => {
    expect(findCommand(table, "new")).toBe(table[0]);
    expect(findCommand(table, "reset")).toBe(table[0]);
    expect(findCommand(table, "undo")).toBe(table[1]);
    for (const name of ["", "ne", "New", "constructor"]) expect(findCommand(table, name)).toBeUndefined();
  });
});

describe("the suggestion for a mistyped name", () => {
  const names = ["new", "resume", "retry", "redo", "search", "sessions", "status", "stop"];

  it.each([
    ["resu", "resume"],
    ["ses", "sessions"],
    ["stopp", "stop"],
    ["sop", "stop"],
    ["stip", "stop"],
    ["sotp", "stop"],
    ["serach", "search"],
    ["nwe", "new"],
  ])("is found: %s is %s", (typed, name) => {
    expect(findNearestName(names, typed)).toBe(name);
  });

  it.each(["", "re", "s", "banana", "nothing", "wen", "🙂"])("is not guessed: %j", (typed) => {
    expect(findNearestName(names, typed)).toBeUndefined();
  });

  it("is one of the names, or none, for any input", () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary" }), (typed) => {
        const near = findNearestName(names, typed);
        return near === undefined || names.includes(near);
      }),
    );
  });

  it("is found for every typing error of one letter in a unique name", () => {
    const letter = fc.constantFrom(..."abcdefghijklmnopqrstuvwxyz");
    fc.assert(
      fc.property(fc.nat(5), letter, (at, other) => {
        for (const slip of [
          "search".slice(0, at) + other + "search".slice(at),
          "search".slice(0, at) + other + "search".slice(at + 1),
        ])
          expect(findNearestName(names, slip)).toBe("search");
      }),
    );
  });
});
