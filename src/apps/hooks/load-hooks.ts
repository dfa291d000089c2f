import { accessSync, constants, type Dirent, readdirSync, readFileSync, realpathSync } from "node:fs";
import { dirname, extname, join } from "node:path";
import type { Hook } from "../../gateway/hooks.ts";
import type { Home } from "../home.ts";
import { type CommandHook, commandHook } from "./command-hook.ts";
import { hookFile } from "./hook-file.ts";
import { moduleHook } from "./module-hook.ts";
import { distrusted } from "./trusted.ts";

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
const PATIENCE_MS = 5000;

export function hooksFolder({ folder }: Pick<Home, "folder">): string {
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
  const folder = hooksFolder(home);
  const hooks: Hook[] = [];
  const commands: CommandHook[] = [];
  const problems: string[] = [];
  for (const entry of entriesIn(folder)) {
    try {
      const hook = await loadOne(folder, entry, environment);
      hooks.push(hook);
      if ("close" in hook) commands.push(hook as CommandHook);
      problems.push(...unheard(hook));
    } catch (error) {
      problems.push(`The hook ${entry.name} is left out: ${sentence(error)}`);
    }
  }
  return {
    hooks,
    problems,
    async close() {
      await Promise.all(commands.map((hook) => hook.close(PATIENCE_MS)));
    },
  };
}

function entriesIn(folder: string): readonly Dirent[] {
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

async function loadOne(folder: string, { name }: Dirent, environment: NodeJS.ProcessEnv): Promise<Hook> {
  mustBeTrusted(folder);
  const path = join(folder, name);
  if (MODULES.includes(extname(name))) {
    mustBeTrusted(path);
    return moduleHook(name.slice(0, -extname(name).length), path);
  }
  const description = join(path, "hook.yaml");
  mustBeTrusted(path);
  mustBeTrusted(description);
  const { events, does } = hookFile(readFileSync(description, "utf8"), path);
  if ("module" in does) {
    mustBeTrusted(does.module);
    return moduleHook(name, does.module, events);
  }
  const [program = ""] = does.command;
  // One that is found by its name alone is as good as everything else in the path.
  if (program.includes("/")) mustBeProgram(program);
  return commandHook({ name, events, ...does, folder: path, environment });
}

/** The file, where it really is, and the folder that it is in. */
function mustBeTrusted(path: string): void {
  const reason =
    distrusted(path) ?? distrusted(realpathSync(path)) ?? distrusted(dirname(realpathSync(path)));
  if (reason !== undefined) throw new Error(reason);
}

function mustBeProgram(path: string): void {
  mustBeTrusted(path);
  try {
    accessSync(path, constants.X_OK);
  } catch {
    throw new Error(`${path} is not a program: chmod +x ${path}`);
  }
}

function unheard({ name, events }: Hook): readonly string[] {
  return events
    .filter((event) => !EVENTS.test(event))
    .map(
      (event) => `The hook ${name} waits for ${event}, which never comes; docs/hooks.md lists the events.`,
    );
}

function sentence(error: unknown): string {
  const { message } = error as Error;
  const [first = ""] = message.split("\n");
  return /[.!?]$/.test(first) || /chmod/.test(first) ? first : `${first}.`;
}
