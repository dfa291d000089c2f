import { type Call, callsIn } from "./call.ts";
import type { Cwds, PathJudge } from "./path-judge.ts";
import { isGroup, type Pipeline, type Step, type Word } from "./script.ts";

interface Reached {
  readonly step: Step;
  readonly calls: readonly Call[];
  /** The pipeline in which it stands, and where: the members after it read its output. */
  readonly line: Pipeline;
  readonly at: number;
  readonly judge: PathJudge;
  readonly cwds: Cwds;
  readonly isCaptured: boolean;
}

/** They take in every file of a folder that they are given. */
const DEEP: ReadonlySet<string> = new Set(
  "tar gtar bsdtar zip 7z 7za rsync scp mv ln rg ag ack ugrep rclone restic borg cpio mksquashfs docker podman mount sshfs".split(
    " ",
  ),
);
/** They show names of files; what reads the names may read the files. */
const NAMING: ReadonlySet<string> = new Set("find gfind bfs fd fdfind ls tree du locate plocate".split(" "));
/** They only pass text on. */
const FILTERS: ReadonlySet<string> = new Set(
  "head tail wc sort uniq grep egrep cut less more column nl tr cat".split(" "),
);
const SERVERS = /^(?:http-server|serve|caddy|miniserve|darkhttpd)$/;

/** Whether a step reads or changes something in Postrider's folder, as far as its words tell. */
export function reachesHome({ step, calls, line, at: place, judge, cwds, isCaptured }: Reached): boolean {
  const words = [
    ...step.assigned,
    ...step.words,
    ...step.redirects.filter(({ way }) => way !== "text").map(({ word }) => word),
  ];
  const at = inFoldersGiven(calls, judge, cwds);
  if (words.some((word) => judge.reachesInside(word, at))) return true;
  return calls.some(
    (call) =>
      isTakingAll(call, { line, at: place, isCaptured }) &&
      rootsOf(call).some((root) => judge.isAround(root, at, isHiddenSeen(call))),
  );
}

/** `tar -C /x`, `git -C /x`, `env --chdir=/x`: relative paths begin there. */
function inFoldersGiven(calls: readonly Call[], judge: PathJudge, cwds: Cwds): Cwds {
  const given = calls.flatMap(({ args }) =>
    args.flatMap((word, at): Word[] => {
      const value = /^(?:--(?:directory|chdir|cwd|prefix|work-tree|git-dir|base-directory)=|-C)(.+)$/s.exec(
        word.text,
      )?.[1];
      if (value !== undefined) return [{ text: value, inside: [] }];
      return /^(?:-C|--(?:directory|chdir|cwd|prefix|base-directory))$/.test(args[at - 1]?.text ?? "")
        ? [word]
        : [];
    }),
  );
  return given.slice(0, 4).reduce((all, word) => {
    const next = judge.follow(word, all);
    return {
      folders: [...new Set([...all.folders, ...next.folders])].slice(0, 8),
      isUnsure: all.isUnsure || next.isUnsure,
    };
  }, cwds);
}

function isTakingAll(
  call: Call,
  { line, at, isCaptured }: Pick<Reached, "line" | "at" | "isCaptured">,
): boolean {
  const { program, flags, given, operands } = call;
  if (NAMING.has(program))
    return (
      isCaptured ||
      isActing(given) ||
      line.members.some((member, index) => index > at && (isGroup(member) || !isFilter(member)))
    );
  if (DEEP.has(program)) return true;
  if (SERVERS.test(program) || given.includes("http.server") || (program === "php" && given.includes("-S")))
    return true;
  if (program === "git")
    return operands[0] === "grep"
      ? given.includes("--no-index")
      : operands[0] === "diff" && given.includes("--no-index");
  return (
    flags.has("r") ||
    flags.has("R") ||
    flags.has("a") ||
    [...flags].some((flag) => /^--(?:recurs|archive|deref)/.test(flag))
  );
}

function isActing(given: readonly string[]): boolean {
  return given.some((arg) => /^-(?:exec|execdir|ok|okdir|delete|fprint\w*|fls|x|X)$|^--exec/.test(arg));
}

function isFilter({ words, redirects }: Step): boolean {
  return (
    callsIn(words).every(({ program }) => FILTERS.has(program)) &&
    redirects.every(({ way }) => way !== "text")
  );
}

const HERE: Word = { text: ".", inside: [] };
const SEARCHERS = /^(?:[ef]?grep|zgrep|rg|ag|ack|ugrep|fd|fdfind)$/;

/** The folders from which it goes down. */
function rootsOf({ program, args, operands, given }: Call): readonly Word[] {
  const named = args.filter(({ text }) => !text.startsWith("-") || text.includes("="));
  const isNamed = SEARCHERS.test(program)
    ? operands.length > (given.some((arg) => /^-[a-zA-Z]*[ef]/.test(arg)) ? 0 : 1)
    : operands.length > 0;
  const isServer = SERVERS.test(program) || given.includes("http.server");
  return isNamed && !isServer ? named : [...named, HERE];
}

/** Some search tools leave out hidden folders unless told otherwise. */
function isHiddenSeen({ program, given }: Call): boolean {
  if (!/^(?:rg|ag|fd|fdfind|ack)$/.test(program)) return true;
  return given.some((arg) => /^-[a-zA-Z]*[uH.]|^--(?:hidden|unrestricted|no-ignore)/.test(arg));
}
