// Installs the dependencies when the lock file has changed since the last time.
// Runs on any Node, before Node 24 itself is there. Writes to stderr only and takes no
// stdin, so that `echo hello | npm start -s` reaches the program untouched.
import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("..", import.meta.url));
const stamp = `${root}node_modules/.installed-lock`;
const turn = `${root}.installing`;
const wanted = createHash("sha256")
  .update(readFileSync(`${root}package-lock.json`))
  .digest("hex");

if (!isInstalled()) {
  takeTurn();
  try {
    if (!isInstalled()) install();
  } finally {
    rmSync(turn, { force: true });
  }
}

function isInstalled() {
  return existsSync(stamp) && readFileSync(stamp, "utf8") === wanted;
}

/** Two installations at once would delete each other's files. */
function takeTurn() {
  for (;;) {
    try {
      writeFileSync(turn, String(process.pid), { flag: "wx" });
      return;
    } catch (error) {
      if (error.code !== "EEXIST") throw error;
    }
    if (isGone()) rmSync(turn, { force: true });
    else Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 200);
  }
}

function isGone() {
  try {
    process.kill(Number(readFileSync(turn, "utf8")), 0);
    return false;
  } catch (error) {
    return error.code === "ESRCH";
  }
}

function install() {
  process.stderr.write("postrider: installing dependencies (once)…\n");
  const npm = process.platform === "win32" ? "npm.cmd" : "npm";
  const { status, error } = spawnSync(npm, ["ci", "--no-audit", "--no-fund", "--loglevel=error"], {
    cwd: root,
    stdio: ["ignore", 2, 2],
    shell: process.platform === "win32",
  });
  if (status !== 0) {
    process.stderr.write(
      `postrider: npm ci failed${error ? `: ${error.message}` : ""}. Run it by hand to see why.\n`,
    );
    rmSync(turn, { force: true });
    process.exit(1);
  }
  writeFileSync(stamp, wanted);
}
