import { mkdirSync, realpathSync, symlinkSync, writeFileSync } from "node:fs";
import { join, sep } from "node:path";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { twoFolders } from "../../test/support/tool-context.ts";
import { type FileAccess, resolveAllowedPath, toDisplayPath } from "./allowed-path.ts";

function buildAccess(cwd: string, more: Partial<FileAccess> = {}): FileAccess {
  return { cwd, allowedFolders: [cwd], deniedFolders: [], ...more };
}

const refusal = (code: string, message: RegExp) =>
  expect.objectContaining({ code, message: expect.stringMatching(message) });

describe("a path that a model names", () => {
  it("is relative to the working directory or absolute, and may not exist yet", async () => {
    const { inside } = twoFolders();
    writeFileSync(join(inside, "a.txt"), "");
    for (const [given, real] of [
      ["a.txt", "a.txt"],
      ["./deep/../a.txt", "a.txt"],
      [join(inside, "a.txt"), "a.txt"],
      ["new/folder/b.txt", "new/folder/b.txt"],
      ["..hidden", "..hidden"],
      [".", ""],
    ] as const)
      expect(await resolveAllowedPath(given, buildAccess(inside))).toEqual({
        realPath: join(inside, real),
      });
  });

  it("is displayed relative to the working directory if it is inside, otherwise absolute", () => {
    expect(toDisplayPath("/work/a/b.txt", { cwd: "/work/a" })).toBe("b.txt");
    expect(toDisplayPath("/work/b.txt", { cwd: "/work/a" })).toBe("/work/b.txt");
    expect(toDisplayPath("/work/a", { cwd: "/work/a" })).toBe("/work/a");
  });

  it.each([
    ["", "invalid_input", /empty/],
    ["  ", "invalid_input", /empty/],
    ["a\0b", "invalid_input", /NUL/],
    ["~/notes", "invalid_input", /must not start with ~: use an absolute path, or one relative to /],
    ["~root/.ssh/id", "invalid_input", /~/],
    ["half \uD800", "invalid_input", /not a valid file name/],
    ["x".repeat(5000), "invalid_input", /not a valid file name/],
    ["../outside/secret", "not_allowed", /not in an allowed folder\. Allowed: /],
    ["..", "not_allowed", /not in an allowed folder/],
    ["../insider", "not_allowed", /not in an allowed folder/],
    ["/etc/passwd", "not_allowed", /not in an allowed folder/],
    ["/", "not_allowed", /not in an allowed folder/],
  ] as const)("is refused with an error text if it is %j", async (given, code, message) => {
    const { root, inside } = twoFolders();
    mkdirSync(join(root, "insider"));
    await expect(resolveAllowedPath(given, buildAccess(inside))).rejects.toThrow(refusal(code, message));
  });

  it("is refused when a link leads outside, with the same error for existing and missing files", async () => {
    const { inside, outside } = twoFolders();
    writeFileSync(join(outside, "there"), "");
    symlinkSync(outside, join(inside, "out"));
    symlinkSync(join(outside, "there"), join(inside, "file"));
    symlinkSync("out/there", join(inside, "twice"));
    const said = async (given: string) =>
      resolveAllowedPath(given, buildAccess(inside)).catch(({ message }) => message.replace(given, "X"));
    const answers = await Promise.all(
      ["out", "out/there", "out/not", "out/not/deep", "file", "twice"].map(said),
    );
    expect(new Set(answers)).toEqual(new Set([expect.stringMatching(/^"X" is not in an allowed folder/)]));
  });

  it("may contain links that stay in allowed folders", async () => {
    const { inside, outside } = twoFolders();
    symlinkSync("real", join(inside, "link"));
    mkdirSync(join(inside, "real"));
    symlinkSync(outside, join(inside, "out"));
    expect((await resolveAllowedPath("link/a", buildAccess(inside))).realPath).toBe(
      join(inside, "real", "a"),
    );
    const both = buildAccess(inside, { allowedFolders: [inside, outside] });
    expect((await resolveAllowedPath("out/a", both)).realPath).toBe(join(outside, "a"));
  });

  it("is refused when it is a dangling or circular link", async () => {
    const { inside, outside } = twoFolders();
    symlinkSync(join(outside, "later"), join(inside, "lost"));
    symlinkSync("circle", join(inside, "circle"));
    for (const given of ["lost", "circle"])
      await expect(resolveAllowedPath(given, buildAccess(inside))).rejects.toThrow(
        refusal("not_allowed", /without a target/),
      );
  });

  it("is not allowed in the working directory unless that folder is allowed", async () => {
    const { inside, outside } = twoFolders();
    await expect(resolveAllowedPath("a", buildAccess(inside, { allowedFolders: [outside] }))).rejects.toThrow(
      refusal("not_allowed", /not in an allowed folder/),
    );
    await expect(resolveAllowedPath("a", buildAccess(inside, { allowedFolders: [] }))).rejects.toThrow(
      refusal("not_allowed", /No folder is allowed/),
    );
  });

  it("never reaches Postrider's own folder, by any name and with any allowed folder in it", async () => {
    const { root, inside } = twoFolders();
    const home = join(inside, ".postrider");
    mkdirSync(join(home, "workspace"), { recursive: true });
    symlinkSync(home, join(inside, "innocent"));
    symlinkSync("../postrider.db", join(home, "workspace", "notes"));
    writeFileSync(join(home, "postrider.db"), "");
    const reach = buildAccess(root, {
      allowedFolders: [root, join(home, "workspace")],
      deniedFolders: [join(inside, "innocent")],
    });
    for (const given of [
      ".postrider",
      ".postrider/postrider.db",
      ".postrider/workspace/../.env",
      ".postrider/workspace/notes",
      ".postrider/workspace/plan.md",
      "innocent/keys",
      "innocent/workspace/../config.yaml",
    ])
      await expect(resolveAllowedPath(join("inside", given), reach), given).rejects.toThrow(
        refusal("not_allowed", /not in an allowed folder/),
      );
    expect(await resolveAllowedPath("inside/plan.md", reach)).toEqual({ realPath: join(inside, "plan.md") });
    // The list of allowed folders cannot open it either.
    await expect(
      resolveAllowedPath(join(home, "keys"), { ...reach, allowedFolders: [home] }),
    ).rejects.toThrow(refusal("not_allowed", /not in an allowed folder/));
  });

  it.skipIf(process.platform !== "linux")(
    "never reaches /proc, /sys and /dev, even if everything is allowed",
    async () => {
      const { inside } = twoFolders();
      symlinkSync("/proc/self/environ", join(inside, "env"));
      const all = buildAccess(inside, { allowedFolders: ["/"] });
      for (const given of [
        "/proc/self/environ",
        "/dev/zero",
        "/sys/kernel",
        "env",
        "/dev/stdin",
        "/proc/self/fd/0",
      ])
        await expect(resolveAllowedPath(given, all), given).rejects.toThrow(
          refusal("not_allowed", /not in an allowed folder/),
        );
      expect((await resolveAllowedPath("/etc/hostname", all)).realPath).toBe(realpathSync("/etc/hostname"));
    },
  );

  it("never resolves to a path outside, for any text", async () => {
    const { root, inside, outside } = twoFolders();
    mkdirSync(join(inside, "a", "b"), { recursive: true });
    writeFileSync(join(inside, "a", "file"), "");
    writeFileSync(join(outside, "secret"), "");
    symlinkSync(outside, join(inside, "a", "out"));
    symlinkSync("../..", join(inside, "a", "up"));
    symlinkSync(join(outside, "secret"), join(inside, "leak"));
    symlinkSync("a", join(inside, "in"));
    symlinkSync("/", join(inside, "root"));
    symlinkSync(join(outside, "not", "there"), join(inside, "lost"));
    const step = fc.constantFrom(
      ...[
        "a",
        "b",
        "file",
        "out",
        "up",
        "leak",
        "in",
        "root",
        "lost",
        "secret",
        "..",
        ".",
        "",
        "~",
        "…",
        "\0",
      ],
      ...["inside", "outside", "..\\..", "%2e%2e", "proc", "self", "cwd", "x".repeat(300)],
      root.slice(1),
      outside.slice(1),
    );
    const path = fc
      .tuple(fc.constantFrom("", "/", "//", inside, outside, "./"), fc.array(step, { maxLength: 8 }))
      .map(([begin, steps]) => begin + steps.join("/"));
    let inThere = 0;
    await fc.assert(
      fc.asyncProperty(path, async (given) => {
        const found = await resolveAllowedPath(given, buildAccess(inside)).catch(({ code }) => {
          expect(["not_allowed", "invalid_input"]).toContain(code);
        });
        if (found === undefined) return;
        inThere += 1;
        expect(`${found.realPath}${sep}`.startsWith(`${inside}${sep}`)).toBe(true);
        expect(found.realPath.split(sep)).not.toContain("..");
        // Neither the path nor any of its parents is a link.
        let there = found.realPath;
        for (;;) {
          const real = await findRealPath(there);
          if (real !== undefined) {
            expect(real).toBe(there);
            break;
          }
          there = join(there, "..");
        }
      }),
      { numRuns: 1500 },
    );
    expect(inThere).toBeGreaterThan(100);
  });
});

async function findRealPath(path: string): Promise<string | undefined> {
  try {
    return realpathSync(path);
  } catch {
    return undefined;
  }
}
