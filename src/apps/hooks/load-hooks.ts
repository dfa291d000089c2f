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
  /** One sentence for each hook that is skipped, or that names an unknown event. */
  readonly problems: readonly string[];
  /** Gives running hooks some time to finish. */
  close(): Promise<void>;
}

const MODULES = [".mjs", ".js", ".ts"];
const EVENTS =
  /^(?:\*|(?:gateway|session|agent|command):\*|gateway:startup|session:(?:start|end|reset|flush)|agent:(?:start|step|end)|command:\S+)$/;
const CLOSE_TIMEOUT_MS = 5000;

export function getHooksFolder({ folder }: Pick<Home, "folder">): string {
  return join(folder, "hooks");
}

/** Loads the hooks of a home: `hooks/NAME.mjs` or `hooks/NAME/hook.yaml`. It skips a broken hook and loads the others. */
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
      problems.push(`The hook ${entry.name} is skipped: ${toSentence(error)}`);
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
  // A command without a path comes from PATH, which is trusted.
  if (program.includes("/")) assertExecutable(program);
  return commandHook({ name, events, ...action, folder: path, environment });
}

function assertExecutable(path: string): void {
  assertTrusted(path);
  try {
    accessSync(path, constants.X_OK);
  } catch {
    throw new Error(`${path} is not executable. Run: chmod +x ${path}`);
  }
}

function findUnknownEvents({ name, events }: Hook): readonly string[] {
  return events
    .filter((event) => !EVENTS.test(event))
    .map(
      (event) =>
        `The hook ${name} listens to ${event}, which does not exist; docs/hooks.md lists the events.`,
    );
}

function toSentence(error: unknown): string {
  const { message } = error as Error;
  const [first = ""] = message.split("\n");
  return /[.!?]$/.test(first) || /chmod/.test(first) ? first : `${first}.`;
}
