import { getGitWords } from "./git-rules.ts";
import type { ProgramCall } from "./program-call.ts";

/** Whether a call with these options only reads and prints. */
type Test = (call: ProgramCall) => boolean;

const always: Test = () => true;
const withoutOperands: Test = ({ operands }) => operands.length === 0;

function denyOptions(denied: RegExp): Test {
  return ({ argTexts }) => !argTexts.some((arg) => denied.test(arg));
}

/** Programs without options that write, run programs or connect. */
const READING =
  "ls cat head wc cut tr pwd echo stat du df which whereis diff cmp comm join paste nl fold rev tac od hexdump strings md5sum sha1sum sha224sum sha256sum sha384sum sha512sum b2sum cksum sum basename dirname realpath readlink id whoami groups uname arch nproc uptime free true false test [ seq expr column expand unexpand base64 base32 printf grep egrep fgrep tail ps type lsblk lscpu".split(
    " ",
  );

const FIND =
  /^-(?:name|iname|path|ipath|wholename|iwholename|regex|iregex|regextype|type|xtype|size|empty|mtime|mmin|atime|amin|ctime|cmin|newer\w*|maxdepth|mindepth|depth|d|mount|xdev|prune|print|print0|printf|ls|not|a|and|o|or|perm|user|group|uid|gid|links|lname|ilname|readable|writable|executable|follow|H|L|P|quit|true|false|daystart|noleaf|samefile|inum|nouser|nogroup|\d+|\+\d+)$/;

const GIT: Readonly<Record<string, Test | undefined>> = {
  status: always,
  log: always,
  diff: always,
  show: always,
  blame: always,
  describe: always,
  shortlog: always,
  "rev-parse": always,
  "rev-list": always,
  "ls-files": always,
  "ls-tree": always,
  "cat-file": always,
  "merge-base": always,
  "name-rev": always,
  "count-objects": always,
  "diff-tree": always,
  "for-each-ref": always,
  grep: always,
  branch: ({ argTexts }) =>
    argTexts.slice(1).every((arg) => /^(?:-[avrl]+|--(?:list|all|remotes|verbose|show-current))$/.test(arg)),
  tag: ({ argTexts }) => argTexts.slice(1).every((arg) => /^(?:-l|-n\d*|--list)$/.test(arg)),
  remote: ({ argTexts }) => argTexts.slice(1).every((arg) => /^(?:-v|--verbose)$/.test(arg)),
  stash: ({ argTexts }) => argTexts.length === 2 && argTexts[1] === "list",
  worktree: ({ argTexts }) => argTexts.length === 2 && argTexts[1] === "list",
};
/** Options of git that write, or that run a configured program. */
const GIT_DENIED =
  /^-(?:O|o|c)|^--(?:output|ext-diff|textconv|no-index|open-files|exec|config|paginate|git-dir|work-tree|filters|show-signature)|^--(?:out|ext|text|no-i|open|conf|pag|show-s)[a-z-]*$/;

const TESTS: Readonly<Record<string, Test | undefined>> = {
  ...Object.fromEntries(READING.map((name) => [name, always])),
  tree: denyOptions(/^-[a-zA-Z]*[oR]|^--output/),
  file: denyOptions(/^-[a-zA-Z]*[Cm]|^--(?:compile|magic)/),
  sort: denyOptions(/^-[a-zA-Z]*[oTS]|^--(?:o|compress|temp|files0|random-source|batch|buffer|parallel)/),
  uniq: ({ operands }) => operands.length < 2,
  xxd: ({ operands, flags }) => operands.length < 2 && !flags.has("r"),
  date: ({ argTexts }) =>
    argTexts.every((arg) => /^(?:\+|-[uRIj]|--(?:utc|iso-8601|rfc-3339|rfc-email)|-I\w+$)/.test(arg)),
  rg: denyOptions(/^--(?:pre|hostname-bin|search-zip)|^-[a-zA-Z]*z/),
  // `env` and `$ENV` reveal the environment; `input` and modules read more files.
  jq: ({ argTexts }) =>
    !argTexts.some((arg) =>
      /\benv\b|\$ENV|\binputs?\b|\binclude\b|\bimport\b|^-[a-zA-Z]*[fL]|^--(?:from-file|rawfile|slurpfile)/.test(
        arg,
      ),
    ),
  find: ({ argTexts }) => argTexts.every((arg) => !arg.startsWith("-") || FIND.test(arg)),
  hostname: withoutOperands,
  cd: always,
  command: ({ argTexts }) => argTexts.length === 2 && argTexts[0] === "-v",
  git: (call) => {
    const [verb = "", ...rest] = getGitWords(call);
    const own = call.argTexts.slice(0, call.argTexts.length - rest.length - 1);
    const isOwnFine = own.every((arg, at) => /^(?:-C|--no-pager)$/.test(arg) || own[at - 1] === "-C");
    const test = Object.hasOwn(GIT, verb) ? GIT[verb] : undefined;
    const isFine = test?.({ ...call, argTexts: [verb, ...rest] }) ?? false;
    return isOwnFine && isFine && !rest.some((arg) => GIT_DENIED.test(arg));
  },
};
const VERSIONED =
  /^(?:node|npm|npx|python3?|pip3?|git|cargo|rustc|go|gcc|clang|tsc|make|cmake|java|ruby|php|perl|docker|kubectl|postrider)$/;

/** Whether the call is known to only read and print. */
export function isHarmlessCall(call: ProgramCall): boolean {
  const { program, path, argTexts } = call;
  // Another folder may have another program with the same name.
  if (path !== program && path !== `/bin/${program}` && path !== `/usr/bin/${program}`) return false;
  if (VERSIONED.test(program) && argTexts.length === 1 && /^(?:--version|--help)$/.test(argTexts[0] ?? ""))
    return true;
  const test = Object.hasOwn(TESTS, program) ? TESTS[program] : undefined;
  return test?.(call) ?? false;
}
