import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { CONTEXT, DANGEROUS, HOSTILE, OWN, REACHING } from "../../../test/support/dangerous-commands.ts";
import { classifyCommand } from "./classify-command.ts";

const getClass = (command: string): string => classifyCommand(command, CONTEXT).class;

const HARMLESS: readonly string[] = [
  ...["ls", "ls -la src", "cat a.txt", "cat a.txt b.txt | head -5", "head -n 3 a", "tail -n 5 a", "wc -l a"],
  ...["grep -rn token .", "grep x a | sort | uniq -c", "rg token src", "find . -name '*.ts' -type f"],
  ...[
    "git status",
    "git log --oneline -5",
    "git diff HEAD~1",
    "git show HEAD",
    "git branch --list",
    "git branch",
  ],
  ...["git -C src status", "git stash list", "git remote -v", "git ls-files", "git blame a.ts"],
  ...[
    "pwd",
    "echo hello",
    "echo 'rm -rf /'",
    "printf '%s\\n' a",
    "date",
    "date +%s",
    "stat a",
    "file a",
    "du -sh .",
  ],
  ...[
    "df -h",
    "ps aux",
    "which node",
    "jq .a x.json",
    "tree src",
    "diff a b",
    "cmp a b",
    "sha256sum a",
    "sort a",
  ],
  ...["cut -d: -f1 a", "tr a b < c", "ls 2>/dev/null", "ls > /dev/null 2>&1", "cat a && cat b", "ls; pwd"],
  ...[
    "cat a || true",
    "cd src && ls",
    "cat ~/shop/a.ts",
    "node --version",
    "cat <<EOF\nrm -rf /\nEOF",
    "uniq a",
  ],
  ...["test -f a", "[ -d src ] && ls src", "command -v git", "basename a/b", "echo {a,b}", "cat mine/a"],
];

const UNKNOWN: readonly string[] = [
  ...["", " ", "npm test", "make", "./ls", "src/cat a", "ls &", "a=1 ls", "cat $x", 'cat "$x"', "cat $(ls)"],
  ...["echo $PATH", "ls > a", "ls >> a", "sort -o a b", "sort a -oc", "uniq a b", "tree -o a", "date -s x"],
  ...[
    "cat /etc/hosts",
    "cat ~/notes",
    "ls /",
    "find / -name x",
    "git log --output=a",
    "git branch x",
    "git tag v1",
  ],
  ...[
    "git fetch",
    "git commit",
    "git config --list",
    "git diff --ext-diff",
    "git -c a.b=c status",
    "jq env x",
  ],
  ...[
    "jq -n 'env'",
    "rg --pre x y",
    "xxd a b",
    "cat 'unclosed",
    "for f in a b; do cat $f; done",
    "f() { ls; }; f",
  ],
  ...[
    "(ls)",
    "cat < ~/x",
    "tee a",
    "touch a",
    "xargs cat",
    "ls | xargs cat",
    "sed p a",
    "awk 1 a",
    "python3 -c 1",
  ],
  ...["cd x; cat /tmp/y", "env ls", "command ls", "cat a >| b", "cat /dev/zero", "cat ../../../../tmp/x"],
];

describe("a command", () => {
  it.each(HARMLESS.map((command) => [command]))(
    "is harmless when it only reads and prints: %s",
    (command) => {
      expect(classifyCommand(command, CONTEXT)).toEqual({ class: "harmless" });
    },
  );

  it.each(UNKNOWN.map((command) => [command]))("is unknown when no list has it: %s", (command) => {
    expect(classifyCommand(command, CONTEXT)).toEqual({ class: "unknown" });
  });

  it("is dangerous with a kind and a reason", () => {
    expect(classifyCommand("rm -r build", CONTEXT)).toEqual({
      class: "dangerous",
      kind: "recursive-delete",
      why: "deletes files and folders with all their content",
    });
  });
});

describe("a combined command", () => {
  const dangerous = [...Object.values(DANGEROUS).flat(), ...HOSTILE, ...OWN, ...REACHING];
  const wraps: readonly ((harmless: string, dangerous: string) => string)[] = [
    (harmless, other) => `${harmless}; ${other}`,
    (harmless, other) => `${harmless} && ${other}`,
    (harmless, other) => `${harmless} || ${other}`,
    (harmless, other) => `${harmless}\n${other}`,
    (harmless, other) => `${harmless} & ${other}`,
    (harmless, other) => `${harmless} | ${other}`,
    (_, other) => `echo $(${other}\n)`,
    (_, other) => `(${other}\n)`,
    (_, other) => `if true; then ${other}\nfi`,
    (_, other) => other,
  ];

  it("is never harmless with a dangerous part", () => {
    // After a cd, a relative path is another file.
    const plain = HARMLESS.filter((command) => !command.includes("<<") && !command.startsWith("cd "));
    fc.assert(
      fc.property(
        fc.constantFrom(...plain),
        fc.constantFrom(...dangerous),
        fc.constantFrom(...wraps),
        (harmless, other, wrap) => {
          expect(getClass(wrap(harmless, other)), wrap(harmless, other)).not.toBe("harmless");
        },
      ),
      { numRuns: 1500 },
    );
  });

  it("is not harmless after a cd if its next part is dangerous in the new folder", () => {
    const there = { ...CONTEXT, cwd: `${CONTEXT.cwd}/src` };
    const isDangerousThere = (command: string): boolean =>
      classifyCommand(command, there).class === "dangerous";
    const missed = dangerous
      .filter(isDangerousThere)
      .flatMap((other) => ["; ", " && ", "\n"].map((operator) => `cd src${operator}${other}`))
      .filter((command) => getClass(command) === "harmless");
    expect(missed).toEqual([]);
  });

  it("is not harmless if a part is dangerous and a cd before it runs in a subshell", () => {
    const missed = dangerous
      .flatMap((other) => [`cd src | ${other}`, `cd src & ${other}`])
      .filter((command) => getClass(command) === "harmless");
    expect(missed).toEqual([]);
  });

  it("is not harmless with an unknown command after a harmless one", () => {
    const others = UNKNOWN.filter((command) => command.trim() !== "" && !command.includes("'unclosed"));
    fc.assert(
      fc.property(fc.constantFrom(...HARMLESS), fc.constantFrom(...others), (harmless, other) => {
        expect(getClass(`${harmless}\n${other}`)).not.toBe("harmless");
      }),
      { numRuns: 500 },
    );
  });

  it("is classified without an error for any text, and no command after a harmless one is missed", () => {
    const signs = fc.constantFrom(
      ..."; & | $ ( ) { } < > ' \" ` \\ * \n rm -rf sh -c x /dev/null".split(" "),
    );
    fc.assert(
      fc.property(fc.constantFrom(...HARMLESS), fc.array(signs, { maxLength: 12 }), (harmless, more) => {
        const behind = more.join(" ");
        const known = classifyCommand(`${harmless}\n${behind}`, CONTEXT);
        expect(known.class === "harmless" && /^[\s;]*(?:rm|sh|x)\b/.test(behind)).toBe(false);
      }),
      { numRuns: 1500 },
    );
  });
});
