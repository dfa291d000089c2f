import { readFileSync } from "node:fs";
import { registerHooks } from "node:module";
import { homedir } from "node:os";
import { dirname, isAbsolute, join, resolve } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { assertTrusted } from "../hooks/find-trust-problem.ts";

const ROOT = new URL("../../../", import.meta.url);
/** A clone runs its sources; the published package has only what was built from them. */
const IS_SOURCE = import.meta.url.endsWith(".ts");
/** An import that is resolved as if the file behind the scheme had written it. */
const SCHEME = "postrider-plugin:";
/** A module that takes longer to load, for instance one that waits for the network, is left out. */
const LOAD_TIMEOUT_MS = 10_000;

export function isPath(name: string): boolean {
  return /^(?:\.{1,2}|~)\//.test(name) || isAbsolute(name);
}

/**
 * Imports a module that the home's owner names: a path, relative to `folder`, or a package that is installed there. Throws a
 * sentence if there is none, or if somebody else could have changed it. The module may import `postrider/...` from anywhere.
 */
export async function importTrusted(
  name: string,
  folder: string,
): Promise<Readonly<Record<string, unknown>>> {
  registerResolver();
  const file = isPath(name) ? resolvePath(name, folder) : resolvePackage(name, folder);
  assertTrusted(file);
  if (isPath(name)) moduleFolders.add(pathToFileURL(`${dirname(file)}/`).href);
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    const error = new Error(`It did not load within ${LOAD_TIMEOUT_MS / 1000} s.`);
    timer = setTimeout(reject, LOAD_TIMEOUT_MS, error);
  });
  try {
    return await Promise.race([import(pathToFileURL(file).href), late]);
  } finally {
    clearTimeout(timer);
  }
}

function resolvePath(name: string, folder: string): string {
  return resolve(folder, name.startsWith("~/") ? join(homedir(), name.slice(2)) : name);
}

function resolvePackage(name: string, folder: string): string {
  const from = pathToFileURL(join(folder, "config.yaml")).href;
  try {
    return fileURLToPath(import.meta.resolve(`${SCHEME}${encodeURIComponent(from)}!${name}`));
  } catch (cause) {
    const isMissing = cause instanceof Error && "code" in cause && cause.code === "ERR_MODULE_NOT_FOUND";
    if (!isMissing) throw cause;
    throw new Error(`The package ${name} is not installed there: npm install --prefix ${folder} ${name}`, {
      cause,
    });
  }
}

/** The folders of named files. Their TypeScript files are ES modules, whatever a package.json above them says. */
const moduleFolders = new Set<string>();

function isModuleFile(url: string): boolean {
  if (!url.endsWith(".ts") || url.includes("/node_modules/")) return false;
  return [...moduleFolders].some((folder) => url.startsWith(folder));
}

let isRegistered = false;

function registerResolver(): void {
  if (isRegistered) return;
  isRegistered = true;
  const { exports } = JSON.parse(readFileSync(new URL("package.json", ROOT), "utf8")) as {
    readonly exports: Readonly<Record<string, string | { readonly default: string }>>;
  };
  registerHooks({
    resolve(specifier, context, next) {
      if (specifier.startsWith(SCHEME)) {
        const [from = "", name = ""] = specifier.slice(SCHEME.length).split("!");
        return next(name, { ...context, parentURL: decodeURIComponent(from) });
      }
      const [, entry] = /^postrider(?:\/(.+))?$/s.exec(specifier) ?? [];
      const isOurs = specifier === "postrider" || entry !== undefined;
      const target = isOurs ? exports[entry === undefined ? "." : `./${entry}`] : undefined;
      if (typeof target !== "object") {
        const resolved = next(specifier, context);
        return isModuleFile(resolved.url) ? { ...resolved, format: "module-typescript" } : resolved;
      }
      return { url: new URL(toOwnFile(target.default), ROOT).href, shortCircuit: true };
    },
  });
}

function toOwnFile(path: string): string {
  return IS_SOURCE ? path.replace(/^\.\/dist\//, "./src/").replace(/\.js$/, ".ts") : path;
}
