import { accessSync, constants, type Dirent, readdirSync, readFileSync } from "node:fs";
import { extname, join } from "node:path";
import type { Hook } from "../../gateway/hooks.ts";
import type { Home } from "../home.ts";
import { type CommandHook, commandHook } from "./command-hook.ts";
import { assertTrusted } from "./find-trust-problem.ts";
import { parseHookFile } from "./hook-file.ts";
import { loadModuleHook } from "./module-hook.ts";

export interface LoadedHooks {
  readonly hooks: readonly Hook[];
  /** A sentence for each that is left out, or that waits for what never comes. */
  readonly problems: readonly string[];
  /** Lets what runs come to its end for a while. */
  close(): Promise<void>;
}

const MODULES = [".mjs", ".js", ".ts"];
const EVENTS =
  /^(?:\*|(?:gateway|session|agent|command):\*|gateway:startup|session:(?:start|end|reset|flush)|agent:(?:start|step|end)|command:\S+)$/;
const CLOSE_TIMEOUT_MS = 5000;

export function getHooksFolder({ folder }: Pick<Home, "folder">): string {
  return join(folder, "hooks");
}

/**
 * The hooks of a home: `hooks/NAME.mjs`, which says what it is for, or `hooks/NAME/hook.yaml`, which names a module or a
 * program. One that cannot be used is left out; the others are none the worse for it.
 */
export async function loadHooks(
  home: Pick<Home, "folder">,
  environment: NodeJS.ProcessEnv,
): Promise<LoadedHooks> {
  const folder = getHooksFolder(home);
  const hooks: Hook[] = [];
  const commands: CommandHook[] = [];
  const problems: string[] = [];
  for (const entry of listHookEntries(folder)) {
    try {
      const hook = await loadHook(folder, entry, environment);
      hooks.push(hook);
      if ("close" in hook) commands.push(hook as CommandHook);
      problems.push(...findUnknownEvents(hook));
    } catch (error) {
      problems.push(`The hook ${entry.name} is left out: ${toSentence(error)}`);
    }
  }
  return {
    hooks,
    problems,
    async close() {
      await Promise.all(commands.map((hook) => hook.close(CLOSE_TIMEOUT_MS)));
    },
  };
}

function listHookEntries(folder: string): readonly Dirent[] {
  try {
    return readdirSync(folder, { withFileTypes: true })
      .filter(({ name }) => !/^[._]|\.md$|~$/i.test(name))
      .toSorted((a, b) => (a.name < b.name ? -1 : 1));
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === "ENOENT" || code === "ENOTDIR") return [];
    throw error;
  }
}

async function loadHook(folder: string, { name }: Dirent, environment: NodeJS.ProcessEnv): Promise<Hook> {
  assertTrusted(folder);
  const path = join(folder, name);
  if (MODULES.includes(extname(name))) {
    assertTrusted(path);
    return loadModuleHook(name.slice(0, -extname(name).length), path);
  }
  const description = join(path, "hook.yaml");
  assertTrusted(path);
  assertTrusted(description);
  const { events, action } = parseHookFile(readFileSync(description, "utf8"), path);
  if ("module" in action) {
    assertTrusted(action.module);
    return loadModuleHook(name, action.module, events);
  }
  const [program = ""] = action.command;
  // One that is found by its name alone is as good as everything else in the path.
  if (program.includes("/")) assertExecutable(program);
  return commandHook({ name, events, ...action, folder: path, environment });
}

function assertExecutable(path: string): void {
  assertTrusted(path);
  try {
    accessSync(path, constants.X_OK);
  } catch {
    throw new Error(`${path} is not a program: chmod +x ${path}`);
  }
}

function findUnknownEvents({ name, events }: Hook): readonly string[] {
  return events
    .filter((event) => !EVENTS.test(event))
    .map(
      (event) => `The hook ${name} waits for ${event}, which never comes; docs/hooks.md lists the events.`,
    );
}

function toSentence(error: unknown): string {
  const { message } = error as Error;
  const [first = ""] = message.split("\n");
  return /[.!?]$/.test(first) || /chmod/.test(first) ? first : `${first}.`;
}
