import type { Cwds, PathJudge } from "./path-judge.ts";
import { findCalls, type ProgramCall } from "./program-call.ts";
import { isCompoundCommand, type Pipeline, type ShellWord, type SimpleCommand } from "./shell-script.ts";

interface ReachInput {
  readonly step: SimpleCommand;
  readonly calls: readonly ProgramCall[];
  /** The pipeline and the index of the step in it: later members read its output. */
  readonly line: Pipeline;
  readonly at: number;
  readonly judge: PathJudge;
  readonly cwds: Cwds;
  readonly isCaptured: boolean;
}

/** Programs that read all files of a folder. */
const DEEP: ReadonlySet<string> = new Set(
  "tar gtar bsdtar zip 7z 7za rsync scp mv ln rg ag ack ugrep rclone restic borg cpio mksquashfs docker podman mount sshfs".split(
    " ",
  ),
);
/** Programs that list file names, which a later program may read. */
const LISTING: ReadonlySet<string> = new Set("find gfind bfs fd fdfind ls tree du locate plocate".split(" "));
/** Programs that only filter text. */
const FILTERS: ReadonlySet<string> = new Set(
  "head tail wc sort uniq grep egrep cut less more column nl tr cat".split(" "),
);
const SERVERS = /^(?:http-server|serve|caddy|miniserve|darkhttpd)$/;

/** Whether a step accesses Postrider's folder, as far as its words show. */
export function isReachingHome({
  step,
  calls,
  line,
  at: place,
  judge,
  cwds,
  isCaptured,
}: ReachInput): boolean {
  const words = [
    ...step.assignments,
    ...step.words,
    ...step.redirects.filter(({ mode }) => mode !== "text").map(({ word }) => word),
  ];
  const at = applyFolderOptions(calls, judge, cwds);
  if (words.some((word) => judge.isInsideHome(word, at))) return true;
  return calls.some(
    (call) =>
      isReadingTree(call, { line, at: place, isCaptured }) &&
      findRoots(call).some((root) => judge.isAboveHome(root, at, canSeeHidden(call))),
  );
}

/** `tar -C /x`, `git -C /x`, `env --chdir=/x`: the base of relative paths. */
function applyFolderOptions(calls: readonly ProgramCall[], judge: PathJudge, cwds: Cwds): Cwds {
  const given = calls.flatMap(({ args }) =>
    args.flatMap((word, at): ShellWord[] => {
      const value = /^(?:--(?:directory|chdir|cwd|prefix|work-tree|git-dir|base-directory)=|-C)(.+)$/s.exec(
        word.text,
      )?.[1];
      if (value !== undefined) return [{ text: value, substitutions: [] }];
      return /^(?:-C|--(?:directory|chdir|cwd|prefix|base-directory))$/.test(args[at - 1]?.text ?? "")
        ? [word]
        : [];
    }),
  );
  return given.slice(0, 4).reduce((all, word) => {
    const next = judge.changeDirectory(word, all);
    return {
      folders: [...new Set([...all.folders, ...next.folders])].slice(0, 8),
      isUnsure: all.isUnsure || next.isUnsure,
    };
  }, cwds);
}

function isReadingTree(
  call: ProgramCall,
  { line, at, isCaptured }: Pick<ReachInput, "line" | "at" | "isCaptured">,
): boolean {
  const { program, flags, argTexts, operands } = call;
  if (LISTING.has(program))
    return (
      isCaptured ||
      isActing(argTexts) ||
      line.members.some((member, index) => index > at && (isCompoundCommand(member) || !isFilter(member)))
    );
  if (DEEP.has(program)) return true;
  if (
    SERVERS.test(program) ||
    argTexts.includes("http.server") ||
    (program === "php" && argTexts.includes("-S"))
  )
    return true;
  if (program === "git")
    return operands[0] === "grep"
      ? argTexts.includes("--no-index")
      : operands[0] === "diff" && argTexts.includes("--no-index");
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

function isFilter({ words, redirects }: SimpleCommand): boolean {
  return (
    findCalls(words).every(({ program }) => FILTERS.has(program)) &&
    redirects.every(({ mode }) => mode !== "text")
  );
}

const HERE: ShellWord = { text: ".", substitutions: [] };
const SEARCHERS = /^(?:[ef]?grep|zgrep|rg|ag|ack|ugrep|fd|fdfind)$/;

/** The folders that the program walks. */
function findRoots({ program, args, operands, argTexts }: ProgramCall): readonly ShellWord[] {
  const named = args.filter(({ text }) => !text.startsWith("-") || text.includes("="));
  const isNamed = SEARCHERS.test(program)
    ? operands.length > (argTexts.some((arg) => /^-[a-zA-Z]*[ef]/.test(arg)) ? 0 : 1)
    : operands.length > 0;
  const isServer = SERVERS.test(program) || argTexts.includes("http.server");
  return isNamed && !isServer ? named : [...named, HERE];
}

/** Some search tools skip hidden folders by default. */
function canSeeHidden({ program, argTexts }: ProgramCall): boolean {
  if (!/^(?:rg|ag|fd|fdfind|ack)$/.test(program)) return true;
  return argTexts.some((arg) => /^-[a-zA-Z]*[uH.]|^--(?:hidden|unrestricted|no-ignore)/.test(arg));
}
