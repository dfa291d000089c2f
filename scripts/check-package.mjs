// The package as people get it: packed, installed into an empty folder, imported, and run through npx.
import assert from "node:assert/strict";
import { execFileSync, spawn } from "node:child_process";
import { copyFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("..", import.meta.url));
const folder = mkdtempSync(join(tmpdir(), "postrider-package-"));
// npm puts the clone's Node 24 first in PATH only inside scripts; npx below must find it too.
const env = {
  ...process.env,
  PATH: `${root}node_modules/.bin:${process.env.PATH}`,
  POSTRIDER_HOME: join(folder, "home"),
  POSTRIDER_AGENT: "echo",
};
const run = (command, args, options = {}) =>
  execFileSync(command, args, {
    cwd: folder,
    env,
    encoding: "utf8",
    stdio: ["pipe", "pipe", "pipe"],
    ...options,
  });

try {
  const [{ filename, files }] = JSON.parse(
    run("npm", ["pack", "--json", "--pack-destination", folder, root], { cwd: root }),
  );
  assert.ok(
    !files.some(({ path }) => /\.test\.|tsbuildinfo/.test(path)),
    "tests or build notes are in the package",
  );
  assert.ok(
    files.some(({ path }) => path === "docs/README.md") &&
      !files.some(({ path }) => path === "docs/coverage.md"),
    "the package must contain docs/README.md and not docs/coverage.md",
  );
  writeFileSync(
    join(folder, "package.json"),
    JSON.stringify({ name: "empty", private: true, type: "module" }),
  );
  run("npm", ["install", "--no-audit", "--no-fund", "--loglevel=error", join(folder, filename)]);

  // Every export resolves, and each name the sources export is there.
  const { exports } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
  for (const entry of Object.keys(exports)) {
    const name = `postrider${entry.slice(1)}`;
    const code = entry.endsWith(".json")
      ? `await import("${name}", { with: { type: "json" } })`
      : `console.log(Object.keys(await import("${name}")).join())`;
    const names = run("node", ["--input-type=module", "-e", code]).trim().split(",");
    if (entry === ".")
      assert.ok(
        names.includes("createSessions") && names.includes("sqliteStore"),
        `postrider exports only ${names}`,
      );
  }

  // The first example, as a person would copy it.
  copyFileSync(join(root, "examples/01-first-session.ts"), join(folder, "first.ts"));
  run("node", ["first.ts"]);

  // Answers, is killed with a line under way, and remembers.
  assert.equal(run("npx", ["postrider"], { input: "hi\n" }), "You said: hi\n");
  await killed(["npx", "postrider"], "second");
  assert.equal(run("npx", ["postrider"], { input: "third\n" }), "You said: third (before that: second)\n");
  const { sessions } = JSON.parse(run("npx", ["postrider", "sessions", "list", "--json"]));
  assert.equal(sessions[0].message_count, 6);
  assert.equal(JSON.parse(run("npx", ["postrider", "-q", "once", "--json"])).answer, "You said: once");
  run("npx", ["postrider", "backup", join(folder, "copy.db")]);
  run("npx", ["postrider", "doctor", "--full"]);
  console.log(`${files.length} files; exports, example, npx and a kill: ok`);
} finally {
  rmSync(folder, { recursive: true, force: true });
}

/** Says a line, waits for the whole answer and kills everything with SIGKILL while stdin is still open. */
function killed([command, ...args], line) {
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, {
      cwd: folder,
      env,
      stdio: ["pipe", "pipe", "inherit"],
      detached: true,
    });
    child.stdin.write(`${line}\n`);
    child.stdout.on("data", (data) => String(data).endsWith("\n") && process.kill(-child.pid, "SIGKILL"));
    child.on("exit", (code, signal) =>
      signal === "SIGKILL"
        ? resolve()
        : reject(new Error(`ended with ${code ?? signal} before it was killed`)),
    );
  });
}
