import { mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it, onTestFinished } from "vitest";
import { copyTree } from "./mutants/copied-tree.ts";
import { findStale } from "./mutants/find-stale.ts";
import type { Mutation } from "./mutants/mutation.ts";
import { optionsFrom } from "./mutants/options.ts";
import { runTests } from "./mutants/run-tests.ts";
import { temporaryFolder } from "./support/folder.ts";
import { isProof } from "./support/schedule.ts";

const ROOT = fileURLToPath(new URL("..", import.meta.url));
const SOURCE = "export function isAllowed(name: string): boolean {\n  return name === 'ada';\n}\n";
const TEST = `import { expect, it } from "vitest";
import { isAllowed } from "./a.ts";
it("allows Ada", () => expect(isAllowed("ada")).toBe(true));
it("allows nobody else", () => expect(isAllowed("bob")).toBe(false));
`;
const MUTATION: Mutation = {
  file: "a.ts",
  find: "name === 'ada'",
  replace: "name !== ''",
  breaks: "Nobody but Ada is allowed.",
  noticedBy: ["a.test.ts"],
};

/** A repository with one source file and its test. */
function repository(): string {
  const folder = temporaryFolder();
  onTestFinished(() => folder.remove());
  const root = join(folder.path, "repository");
  mkdirSync(root);
  writeFileSync(join(root, "a.ts"), SOURCE);
  writeFileSync(join(root, "a.test.ts"), TEST);
  symlinkSync(join(ROOT, "node_modules"), join(root, "node_modules"));
  return root;
}

describe("the list of mutations", () => {
  it.each<[string, Partial<Mutation>, string]>([
    ["a missing text", { find: "nothing" }, "occurs 0 times"],
    ["a repeated text", { find: "name" }, "occurs 2 times"],
    ["a missing file", { file: "b.ts" }, "names a file that does not exist"],
    ["a missing test", { noticedBy: ["b.test.ts"] }, "names b.test.ts, which does not exist"],
    ["an unknown title", { test: "allows Bob" }, "names a test that no file holds"],
    ["a replacement without a change", { replace: "name === 'ada'" }, "changes nothing"],
    ["a syntax error", { replace: "name ===" }, "does not parse"],
  ])("is checked for %s", (_, change, problem) => {
    expect(findStale(repository(), [{ ...MUTATION, ...change }]).join("\n")).toContain(problem);
  });

  it("has no duplicate entry and no other problem", () => {
    const root = repository();
    expect(findStale(root, [MUTATION])).toEqual([]);
    expect(findStale(root, [MUTATION, MUTATION])).toEqual([expect.stringContaining("is in the list twice")]);
  });
});

describe("trying a mutation", () => {
  const attempt = async (replace: string, titles: readonly string[] = []) => {
    const tree = copyTree(repository());
    onTestFinished(() => tree.remove());
    const asked = { root: tree.path, files: ["a.test.ts"], titles, seconds: 60 };
    const mutated = await tree.mutated({ ...MUTATION, replace }, () => runTests(asked));
    return { mutated, after: await runTests(asked) };
  };

  it("reports the failed test, and reverts the mutation", async () => {
    const { mutated, after } = await attempt("name !== ''");
    expect(mutated).toMatchObject({ outcome: "failed", test: "allows nobody else" });
    expect(after).toEqual({ outcome: "passed" });
  });

  it.runIf(isProof)("reports that the named tests still pass", async () => {
    expect((await attempt("name !== ''", ["allows Ada"])).mutated).toEqual({ outcome: "passed" });
  });

  it.runIf(isProof).each([
    [
      "does not load",
      "(() => { throw new Error(); })() }\nexport const b = (undefined as never as string[]).length; {",
    ],
    ["uses a name that does not exist", "nobody === 'ada'"],
  ])("counts a tree that %s as broken, not as killed", async (_, replace) => {
    expect((await attempt(replace)).mutated).toMatchObject({ outcome: "broken" });
  });
});

describe("the options", () => {
  it("are parsed, or refused with a message", () => {
    expect(optionsFrom([])).toMatchObject({ jobs: 1, seconds: 180, baseline: true, only: [] });
    expect(optionsFrom(["--only", "a", "--only", "b", "--jobs", "2", "--no-baseline"])).toMatchObject({
      ...{ only: ["a", "b"], jobs: 2, baseline: false },
    });
    expect(() => optionsFrom(["--jobs", "none"])).toThrow("--jobs must be a whole number");
    expect(() => optionsFrom(["--many"])).toThrow("--many");
  });
});
