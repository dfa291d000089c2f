#!/usr/bin/env node
if (Number(process.versions.node.split(".")[0]) < 24) {
  process.stderr.write(
    `postrider needs Node 24 or newer; this is ${process.versions.node}. In a clone, use \`npm start\`, which brings its own.\n`,
  );
  process.exit(1);
}
process.getBuiltinModule("node:module").enableCompileCache();
// A clone runs its sources; the published package has only what was built from them.
const source = new URL("../src/apps/cli/main.ts", import.meta.url);
// Node's own modules are asked for, not imported, on the way to a short command: making an ES module of node:fs or
// node:util takes a tenth of the whole time.
const { existsSync } = process.getBuiltinModule("node:fs");
const { main } = await import(existsSync(source) ? source.href : "../dist/apps/cli/main.js");
process.exitCode = await main(process.argv.slice(2));
// A handle that was left open must not keep the process; output that is still being written may.
setInterval(() => process.stdout.writableLength > 0 || process.exit(), 2000).unref();
