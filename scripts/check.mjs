// Everything that is checked beside the tests: types and layers, style, docs, examples, package.
import { spawnSync } from "node:child_process";
import { readdirSync } from "node:fs";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("..", import.meta.url));
const examples = readdirSync(`${root}examples`).filter((name) => /^\d\d-.*\.ts$/.test(name));

const steps = [
  ["async twin", "node", ["scripts/make-async.ts"]],
  ["types and layers", "tsc", ["-b"]],
  ["promises of the async twin", "node", ["scripts/check-async.ts"]],
  ["types of tests, benches and examples", "tsc", ["-p", "tsconfig.tests.json"]],
  ["style", "biome", ["ci", "."]],
  ["links of the docs", "node", ["scripts/check-docs.mjs"]],
  ["compose file, Kubernetes manifests and Dockerfile", "node", ["scripts/check-deploy.mjs"]],
  ["coverage table", "node", ["scripts/check-coverage.mjs"]],
  ["exported names", "node", ["scripts/check-exports.mjs"]],
  ["one meaning per exported name", "node", ["scripts/check-names.mjs"]],
  ["place and form of SQL", "node", ["scripts/check-statements.mjs"]],
  ["list of mutations", "node", ["--disable-warning=ExperimentalWarning", "test/mutants/run.ts", "--check"]],
  ...examples.map((name) => [
    `example ${name}`,
    "node",
    ["--import", "./examples/resolve.mjs", `examples/${name}`],
  ]),
  ["package", "node", ["scripts/check-package.mjs"]],
];

let failed = 0;
for (const [name, command, args] of steps) {
  const start = Date.now();
  const { status, stdout, stderr } = spawnSync(command, args, { cwd: root, encoding: "utf8" });
  const seconds = ((Date.now() - start) / 1000).toFixed(1);
  if (status === 0) {
    console.log(`ok      ${name} (${seconds} s)`);
  } else {
    failed += 1;
    console.log(`FAILED  ${name} (${seconds} s)\n${stdout ?? ""}${stderr ?? ""}`);
  }
}
console.log(
  failed === 0 ? `all ${steps.length} checks passed` : `${failed} of ${steps.length} checks failed`,
);
process.exit(failed === 0 ? 0 : 1);
