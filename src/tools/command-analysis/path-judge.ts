import { basename, isAbsolute, resolve } from "node:path";
import type { CommandContext } from "./command-context.ts";
import { canMatchAbove, canMatchInside, isGlob } from "./glob.ts";
import type { ShellWord } from "./shell-script.ts";

/** The possible current folders of a command. */
export interface Cwds {
  readonly folders: readonly string[];
  /** The folder may also be another one. */
  readonly isUnsure: boolean;
}

/** For code that runs either in this shell or in a subshell, whose folder is lost. */
export function joinCwds(one: Cwds, other: Cwds): Cwds {
  return {
    folders: [...new Set([...one.folders, ...other.folders])],
    isUnsure: one.isUnsure || other.isUnsure,
  };
}

/** Checks whether words of a command point to Postrider's own folder. */
export interface PathJudge {
  /** The word, an option value in it, or a path in its script is inside the folder. */
  isInsideHome(word: ShellWord, cwds: Cwds): boolean;
  /** The word names a parent of Postrider's folder. */
  isAboveHome(word: ShellWord, cwds: Cwds, isHiddenSeen: boolean): boolean;
  /** Every possible path of the word is in the working directory or in a workspace. */
  isInsideWorkspace(word: ShellWord, cwds: Cwds): boolean;
  /** The possible folders after a `cd`. */
  changeDirectory(word: ShellWord, cwds: Cwds): Cwds;
}

/** The maximum number of file system lookups per command. */
const MAX_LOOKUPS = 64;
const MAX_CWDS = 8;
const MAX_PATH_LENGTH = 1024;
const MAX_TOKENS = 4096;
const MARKS = /[\uE003-\uE006]/;

export function createPathJudge(context: CommandContext): PathJudge {
  const { workspaces, userHome = "/root" } = context;
  const homes = context.homes.map((home) => ({ path: home, names: splitPath(home), name: basename(home) }));
  const seen = new Map<string, string | undefined>();

  function findRealPath(path: string): string | undefined {
    if (seen.has(path)) return seen.get(path);
    if (seen.size >= MAX_LOOKUPS || path.length > MAX_PATH_LENGTH || path.includes("\0")) return undefined;
    const real = context.realPath(path);
    seen.set(path, real);
    return real;
  }

  function isInside(path: string): boolean {
    return homes.some(
      (home) =>
        isBelow(path, home.path) &&
        !workspaces.some((folder) => folder.length > home.path.length && isBelow(path, folder)),
    );
  }

  /** The absolute forms of a path, with and without links. */
  function listForms(path: string, { folders }: Cwds, isLookedUp: boolean): readonly string[] {
    return folders.flatMap((folder) => {
      const tilde = expandTilde(path, folder, userHome);
      const whole = isAbsolute(tilde) ? tilde : `${folder}/${tilde}`;
      const real = isLookedUp && !isGlob(tilde) ? findRealPath(whole) : undefined;
      const plain = resolve(whole);
      return real === undefined || real === plain ? [plain] : [plain, real];
    });
  }

  function leadsInside(given: string, cwds: Cwds, isLookedUp: boolean): boolean {
    if (given === "" || given.length > MAX_PATH_LENGTH) return false;
    // An unknown part can be any text, so its name is ignored.
    const path = given.replace(/([\uE003-\uE006])\$\w+/g, "$1");
    const isFromUnknown = MARKS.test(path[0] ?? "");
    const parts = path.split("/");
    if ((isFromUnknown || cwds.isUnsure) && !isAbsolute(path) && !path.startsWith("~")) {
      if (parts.includes("..") && !/^[\uE005\uE006]/.test(path)) return true;
      if (homes.some(({ name }) => parts.includes(name))) return true;
    }
    return listForms(path, cwds, isLookedUp).some((form) => {
      if (!isGlob(form)) return isInside(form);
      const names = splitPath(form);
      const fixed = names.findIndex(isGlob);
      const start = `/${names.slice(0, fixed < 0 ? names.length : fixed).join("/")}`;
      const isFree = workspaces.some((folder) => isBelow(start, folder)) && !isInside(start);
      return !isFree && homes.some((home) => canMatchInside(names, home.names));
    });
  }

  return {
    isInsideHome(word, cwds) {
      if (homes.length === 0) return false;
      const text = word.markedText ?? word.text;
      const whole = text.replace(/^file:\/\/(?:localhost)?(?=\/)/, "");
      if (listPossiblePaths(whole).some((path) => leadsInside(path, cwds, true))) return true;
      const tokens = whole.split(/[\s'"`,;=()<>|&@:{}\\[\]]+/, MAX_TOKENS);
      return tokens.length > 1 && tokens.some((token) => leadsInside(token, cwds, false));
    },
    isAboveHome(word, cwds, isHiddenSeen) {
      return listPossiblePaths(word.markedText ?? word.text).some((path) =>
        listForms(path, cwds, true).some((form) =>
          homes.some(({ path: home, names }) => {
            const own = splitPath(form);
            const isAbove = isGlob(form) ? canMatchAbove(own, names) : form !== home && isBelow(home, form);
            return isAbove && (isHiddenSeen || !names.slice(own.length).some((name) => name.startsWith(".")));
          }),
        ),
      );
    },
    isInsideWorkspace(word, cwds) {
      const allowed = [context.cwd, ...workspaces];
      return (
        word.text.length <= MAX_PATH_LENGTH &&
        listPossiblePaths(word.text).every((path) =>
          listForms(path, cwds, true).every(
            (form) => !isInside(form) && allowed.some((folder) => isBelow(form, folder)),
          ),
        )
      );
    },
    changeDirectory(word, cwds) {
      const path = word.text === "" ? "~" : word.text;
      const isKnown = word.unknown === undefined && !isGlob(path) && path !== "-" && !/^~[^/]/.test(path);
      if (!isKnown) return { ...cwds, isUnsure: true };
      const forms = listForms(path, cwds, true);
      const exists = cwds.folders.some((folder) =>
        findRealPath(resolve(folder, expandTilde(path, folder, userHome))),
      );
      const folders = [...new Set(exists ? forms : [...cwds.folders, ...forms])];
      return {
        folders: folders.slice(0, MAX_CWDS),
        isUnsure: cwds.isUnsure || folders.length > MAX_CWDS,
      };
    },
  };
}

/** The possible paths in a word: itself, `--option=path`, `-opath`, `@path`, `a:b`. */
function listPossiblePaths(text: string): readonly string[] {
  const parts = [text];
  const value = text.indexOf("=");
  if (value >= 0 && value < 64) parts.push(text.slice(value + 1).replace(/^@/, ""));
  if (/^-[A-Za-z]./.test(text)) parts.push(text.slice(2));
  if (text.startsWith("@")) parts.push(text.slice(1));
  const colon = text.indexOf(":");
  if (colon > 0 && colon < 256) parts.push(text.slice(0, colon), text.slice(colon + 1));
  return parts;
}

function expandTilde(path: string, cwd: string, userHome: string): string {
  if (path === "~+" || path.startsWith("~+/")) return `${cwd}${path.slice(2)}`;
  if (path === "~" || path.startsWith("~/")) return `${userHome}${path.slice(1)}`;
  return path;
}

function isBelow(path: string, folder: string): boolean {
  return path === folder || path.startsWith(folder === "/" ? "/" : `${folder}/`);
}

function splitPath(path: string): readonly string[] {
  return path.split("/").filter((name) => name !== "");
}
