// The package as people get it: packed, installed into an empty folder, imported, type-checked, and run through npx.
import assert from "node:assert/strict";
import { execFileSync, spawn } from "node:child_process";
import {
  cpSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("..", import.meta.url));
// The real path: Node compares it with the path of a module to know what was started.
const temporary = realpathSync(mkdtempSync(join(tmpdir(), "postrider-package-")));
const folder = join(temporary, "full");
const slim = join(temporary, "slim");
/** Of the packages that the library needs besides better-sqlite3 and its own. */
const MAX_PACKAGES = 10;
// npm puts the clone's Node 24 first in PATH only inside scripts; npx below must find it too.
const env = {
  ...process.env,
  PATH: `${root}node_modules/.bin:${process.env.PATH}`,
  POSTRIDER_HOME: join(temporary, "home"),
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
    run("npm", ["pack", "--json", "--pack-destination", temporary, root], { cwd: root }),
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
  checkDuplicateVersions();
  install(folder, join(temporary, filename));
  checkEntryPoints();
  checkAsyncTwin();
  const examples = checkExamples();
  checkReadme();
  await checkCommand();
  const size = checkSlim(join(temporary, filename));
  console.log(`${files.length} files; entry points, ${examples} examples, README, npx and a kill: ok`);
  console.log(`without optional packages: ${size}`);
} finally {
  rmSync(temporary, { recursive: true, force: true });
}

/** An optional package is a development dependency, too: npm leaves out optional ones that an older Node does not fit. */
function checkDuplicateVersions() {
  const { optionalDependencies, devDependencies } = JSON.parse(
    readFileSync(join(root, "package.json"), "utf8"),
  );
  for (const [name, version] of Object.entries(optionalDependencies))
    assert.equal(devDependencies[name], version, `devDependencies must have ${name} ${version}`);
}

function install(where, tarball, ...options) {
  mkdirSync(where, { mode: 0o700 });
  writeFileSync(
    join(where, "package.json"),
    JSON.stringify({ name: "empty", private: true, type: "module" }),
  );
  run("npm", ["install", "--no-audit", "--no-fund", "--loglevel=error", ...options, tarball], { cwd: where });
}

/** Every entry point resolves, and nothing else of the package does. */
function checkEntryPoints() {
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
  const deep = ["dist/index.js", "dist/core/errors.js", "core/errors", "entries/tool", "src/index.ts", "bin"];
  const code = `for (const path of ${JSON.stringify(deep)}) {
    const code = await import("postrider/" + path).then(() => "it works", (error) => error.code);
    if (code !== "ERR_PACKAGE_PATH_NOT_EXPORTED") throw new Error(path + ": " + code);
  }`;
  run("node", ["--input-type=module", "-e", code]);
}

/** Every operation of the generated twin loads, and the store on PostgreSQL with it. */
function checkAsyncTwin() {
  const file = join(folder, "node_modules/postrider/dist/stores/sql-async/generated/operations.js");
  const code = `const { loadOperations } = await import(${JSON.stringify(file)});
    console.log((await loadOperations("read", "readLong", "write", "tryWrite")).size);`;
  const count = Number(run("node", ["--input-type=module", "-e", code]));
  assert.ok(count > 90, `the async twin has only ${count} operations`);
  const store = join(folder, "node_modules/postrider/dist/stores/postgres/store.js");
  const open = `const { openPostgresStore } = await import(${JSON.stringify(store)});
    await openPostgresStore({ url: "postgres://user@127.0.0.1:1/db" }).catch(({ code }) => console.log(code));`;
  const refused = run("node", ["--input-type=module", "-e", open]).trim();
  assert.ok(
    ["store_unavailable", "missing_package"].includes(refused),
    `the PostgreSQL store said ${refused}`,
  );
}

/** Every example, as a person would copy it: type-checked against the package, and run. Returns how many. */
function checkExamples() {
  const copies = join(folder, "examples");
  cpSync(join(root, "examples"), copies, { recursive: true });
  rmSync(join(copies, "resolve.mjs"));
  writeFileSync(join(copies, "embed.ts"), readEmbedding());
  checkTypes(["examples"]);
  const names = readdirSync(copies).filter((name) => /^\d\d-.*\.ts$/.test(name));
  for (const name of names) {
    try {
      run("node", [`examples/${name}`]);
    } catch (error) {
      throw new Error(`examples/${name} failed:\n${error.stdout}${error.stderr}`, { cause: error });
    }
  }
  return names.length;
}

function checkTypes(include) {
  const options = {
    module: "NodeNext",
    target: "ES2024",
    lib: ["ES2024"],
    strict: true,
    exactOptionalPropertyTypes: true,
    noUncheckedIndexedAccess: true,
    allowImportingTsExtensions: true,
    erasableSyntaxOnly: true,
    noEmit: true,
    skipLibCheck: true,
    types: ["node"],
    typeRoots: [join(root, "node_modules/@types")],
  };
  writeFileSync(join(folder, "tsconfig.json"), JSON.stringify({ compilerOptions: options, include }));
  try {
    run("tsc", ["-p", "."]);
  } catch (error) {
    throw new Error(`the types of the examples do not fit the package:\n${error.stdout}`, { cause: error });
  }
}

/** The code of "Embed it in ten lines". */
function readEmbedding() {
  const readme = readFileSync(join(root, "README.md"), "utf8");
  const [, code] = /## Embed it in ten lines\n[\s\S]*?```ts\n([\s\S]*?)```/.exec(readme) ?? [];
  const lines = code?.split("\n").filter((line) => line.trim() !== "").length;
  assert.ok(lines !== undefined && lines <= 10, `the code in the README has ${lines} lines, not ten`);
  return code;
}

/** The same code answers on a fake Telegram. */
function checkReadme() {
  const code = readEmbedding()
    .replace("telegram({", "telegram({ apiRoot: process.env.API_ROOT,")
    .replace("YOUR TELEGRAM ID", "7");
  writeFileSync(join(folder, "embed.ts"), code);
  writeFileSync(
    join(folder, "embed-check.ts"),
    `import { startFakeTelegram } from "postrider/testing";
     const fake = await startFakeTelegram();
     process.env.API_ROOT = fake.url;
     process.env.TELEGRAM_BOT_TOKEN = fake.token;
     await fake.addUser({ id: 7, firstName: "Ann" });
     const chat = await fake.openDm(7);
     await import("./embed.ts");
     await fake.say(chat, 7, "hello");
     console.log((await fake.untilShown(chat, "You said")).text);
     process.exit(0);`,
  );
  assert.equal(run("node", ["embed-check.ts"]), "You said: hello\n");
}

/** Answers, is killed with a line under way, and remembers. */
async function checkCommand() {
  assert.equal(run("npx", ["postrider"], { input: "hi\n" }), "You said: hi\n");
  await killed(["npx", "postrider"], "second");
  assert.equal(run("npx", ["postrider"], { input: "third\n" }), "You said: third (before that: second)\n");
  const { sessions } = JSON.parse(run("npx", ["postrider", "sessions", "list", "--json"]));
  assert.equal(sessions[0].message_count, 6);
  assert.equal(JSON.parse(run("npx", ["postrider", "-q", "once", "--json"])).answer, "You said: once");
  run("npx", ["postrider", "backup", join(temporary, "copy.db")]);
  run("npx", ["postrider", "doctor", "--full"]);
}

/** The library without optional packages: the first example runs, and what is missing is named. Returns its size. */
function checkSlim(tarball) {
  install(slim, tarball, "--omit=optional");
  cpSync(join(root, "examples/01-first-session.ts"), join(slim, "first.ts"));
  run("node", ["first.ts"], { cwd: slim });
  const code = `import { telegram } from "postrider/platforms/telegram";
    try { telegram({ token: "1:abc" }); } catch ({ code, message }) { console.log(code, message); }`;
  assert.match(
    run("node", ["--input-type=module", "-e", code], { cwd: slim }),
    /^missing_package Telegram needs the package grammy, .*npm install grammy\n$/,
  );
  const bin = join(slim, "node_modules/postrider/bin/postrider.mjs");
  assert.throws(
    () => run("node", [bin, "config", "check"], { cwd: slim }),
    ({ stderr }) => /This command needs the package \S+, which is not installed/.test(stderr),
  );
  const lock = JSON.parse(readFileSync(join(slim, "node_modules/.package-lock.json"), "utf8"));
  const names = Object.keys(lock.packages).map((path) => path.replace(/^.*node_modules\//, ""));
  const sqlite = listWithDependencies(lock.packages, "better-sqlite3");
  const others = names.filter((name) => name !== "postrider" && !sqlite.has(name));
  assert.ok(others.length <= MAX_PACKAGES, `the library installs ${others.length} packages: ${others}`);
  const megabytes = (measure(join(slim, "node_modules")) / 1024 / 1024).toFixed(1);
  return `${names.length} packages (postrider, ${sqlite.size} for better-sqlite3, ${others.join(", ")}), ${megabytes} MB`;
}

function listWithDependencies(packages, name, found = new Set()) {
  if (found.has(name)) return found;
  found.add(name);
  const { dependencies = {} } = packages[`node_modules/${name}`] ?? {};
  for (const one of Object.keys(dependencies)) listWithDependencies(packages, one, found);
  return found;
}

function measure(path) {
  return readdirSync(path, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .reduce((sum, entry) => sum + statSync(join(entry.parentPath, entry.name)).size, 0);
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
