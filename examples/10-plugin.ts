// A plugin: a file that the home's config.yaml names. This one adds an agent, a tool, a command and a hook to every terminal,
// editor and gateway of the home. Run as a program, it installs itself in a new home and tries itself out.
//
//   node --import ./examples/resolve.mjs examples/10-plugin.ts

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { chmodSync, copyFileSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { getText } from "postrider/agent";
import { definePlugin } from "postrider/plugin";
import { defineTool } from "postrider/tool";

export const plugin = definePlugin({
  agents: {
    shout: () => ({
      name: "shout",
      async *run({ history }) {
        yield { type: "text", text: getText(history.at(-1) ?? { parts: [] }).toUpperCase() };
      },
    }),
  },
  tools: [
    defineTool({
      name: "roll_dice",
      description: "Rolls a die with this many sides.",
      input: { type: "object", properties: { sides: { type: "integer", minimum: 2 } }, required: ["sides"] },
      effect: "none",
      run: ({ sides }) => String(1 + Math.floor(Math.random() * Number(sides))),
    }),
  ],
  commands: [{ name: "horse", summary: "a fresh horse", isReadOnly: true, run: () => "🐎" }],
  hooks: [{ name: "horse-log", events: ["command:horse"], handle: () => {} }],
});

/** What a person does by hand: a line in config.yaml, then `postrider`. */
function tryOut(): void {
  const home = mkdtempSync(join(tmpdir(), "postrider-example-"));
  const bin = fileURLToPath(new URL("bin/postrider.mjs", import.meta.resolve("postrider/package.json")));
  const env = { ...process.env, POSTRIDER_HOME: home };
  const postrider = (args: readonly string[], input = ""): string =>
    execFileSync(process.execPath, [bin, ...args], { cwd: home, env, input, encoding: "utf8" });
  try {
    // Nobody else may be able to change a plugin: it runs with all rights of the home's owner.
    copyFileSync(fileURLToPath(import.meta.url), join(home, "my-plugin.ts"));
    chmodSync(join(home, "my-plugin.ts"), 0o600);
    writeFileSync(join(home, "config.yaml"), "plugins: [./my-plugin.ts]\n");
    console.log(postrider(["plugins", "list"]).trim());
    assert.equal(postrider(["plugins", "check"]), "No problems.\n");
    assert.equal(postrider(["-q", "giddy up", "--agent", "shout"]), "GIDDY UP\n");
    assert.equal(postrider(["--agent", "echo"], "/horse\n"), "🐎\n");
  } finally {
    rmSync(home, { recursive: true, force: true });
  }
}

if (import.meta.main) tryOut();
