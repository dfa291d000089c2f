import { PostriderError } from "../core/errors.ts";

/**
 * Loads a module that needs the optional package `name`. Without the package it throws `missing_package`, with a sentence
 * that says what to install. `purpose` is the subject of that sentence, such as "Telegram".
 */
export async function loadOptional<Module>(
  name: string,
  purpose: string,
  load: () => Promise<Module>,
): Promise<Module> {
  try {
    return await load();
  } catch (error) {
    if (findMissingPackage(error) !== name) throw error;
    throw createMissingPackageError(name, purpose, error);
  }
}

/** The same for a package that is loaded synchronously. */
export function requireOptional<Module>(
  name: string,
  purpose: string,
  load: (name: string) => unknown,
): Module {
  try {
    return load(name) as Module;
  } catch (error) {
    if (findMissingPackage(error) !== name) throw error;
    throw createMissingPackageError(name, purpose, error);
  }
}

/** The error of a package that is not installed, for callers that load many. Other errors are returned as they are. */
export function explainMissingPackage(error: unknown, purpose: string): unknown {
  const name = findMissingPackage(error);
  return name === undefined ? error : createMissingPackageError(name, purpose, error);
}

function createMissingPackageError(name: string, purpose: string, cause: unknown): PostriderError {
  return new PostriderError(
    "missing_package",
    `${purpose} needs the package ${name}, which is not installed. Install it beside postrider: npm install ${name}`,
    { cause, details: { package: name } },
  );
}

/** The package that Node did not find. A missing file of ours, or of a package that is there, is another error. */
function findMissingPackage(error: unknown): string | undefined {
  if (!(error instanceof Error) || !("code" in error)) return undefined;
  if (error.code !== "ERR_MODULE_NOT_FOUND" && error.code !== "MODULE_NOT_FOUND") return undefined;
  const [, name] =
    /^Cannot find (?:package|module) '((?:@[\w.-]+\/)?[\w.-]+)(?:\/[^']*)?'/.exec(error.message) ?? [];
  return name === undefined || /^\.{1,2}$/.test(name) ? undefined : name;
}
