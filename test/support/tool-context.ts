import { mkdirSync, realpathSync } from "node:fs";
import { join } from "node:path";
import { onTestFinished } from "vitest";
import { getText } from "../../src/core/message.ts";
import { OWNER } from "../../src/core/owner.ts";
import { localSource } from "../../src/core/source.ts";
import type { Tool } from "../../src/ports/tool.ts";
import type { Processes } from "../../src/processes/processes.ts";
import type { ToolContext } from "../../src/tools/tool-context.ts";
import { temporaryFolder } from "./folder.ts";
import type { Home } from "./test-home.ts";

/** For tools that start no processes. */
const noProcesses = new Proxy({} as Processes, {
  get: (_, name) => {
    throw new Error(`this test must not use processes, but called ${String(name)}`);
  },
});

/** The tool context of the owner in a terminal, with the given changes. */
export function buildToolContext(home: Home, more: Partial<ToolContext> = {}): ToolContext {
  return {
    store: home.store,
    clock: home.clock,
    processes: noProcesses,
    session: "none",
    conversation: 0,
    target: localSource(),
    asker: { person: OWNER },
    role: "owner",
    owner: OWNER,
    profile: "main",
    cwd: "/nowhere",
    allowedFolders: [],
    deniedFolders: [],
    environment: {},
    secrets: [],
    timeoutMs: 1000,
    watchMode: "all",
    ...more,
  };
}

/** A working folder and a folder outside of it. Both are removed after the test. */
export function twoFolders(): { readonly root: string; readonly inside: string; readonly outside: string } {
  const { path, remove } = temporaryFolder();
  onTestFinished(remove);
  const root = realpathSync(path);
  const [inside, outside] = [join(root, "inside"), join(root, "outside")];
  mkdirSync(inside);
  mkdirSync(outside);
  return { root, inside, outside };
}

export interface Called {
  readonly text: string;
  readonly failed: boolean;
}

/** Calls a tool like an agent. */
export async function called(
  tool: Tool,
  given: unknown,
  signal: AbortSignal = new AbortController().signal,
): Promise<Called> {
  const { parts, failed } = await tool.run(given, { id: "call", signal });
  return { text: getText({ parts }), failed: failed === true };
}
