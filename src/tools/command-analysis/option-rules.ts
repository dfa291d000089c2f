import { type DangerRule, hasFlag, isLongOption } from "./danger-rule.ts";
import type { ProgramCall } from "./program-call.ts";
import { findSedEffects } from "./sed-effects.ts";

/** Rules for common programs that run others through an option. */
export const OPTION_RULES: readonly DangerRule[] = [
  {
    kind: "runs-program",
    why: "makes a program run another program through an option or a setting",
    matches: (call, { text = "" }) => {
      const test = Object.hasOwn(TESTS, call.program) ? TESTS[call.program] : undefined;
      return (
        (test?.(call, text) ?? false) ||
        findSedEffects(call).runs.length > 0 ||
        call.argTexts.some(
          (arg) =>
            /^--(?:use-compress-program|checkpoint-action|to-command|rsh-command)\b/.test(arg) &&
            !isPacker(arg),
        )
      );
    },
  },
];

type Test = (call: ProgramCall, text: string) => boolean;

const isSsh: Test = ({ argTexts }) =>
  argTexts.some((arg, at) => {
    const value = /^-[a-zA-Z\d]*o$/.test(arg)
      ? (argTexts[at + 1] ?? "")
      : /^-[a-zA-Z\d]*?o(.+)$/.exec(arg)?.[1];
    if (
      value !== undefined &&
      /^\s*["']?(?:proxycommand|localcommand|permitlocalcommand|knownhostscommand|pkcs11provider|securitykeyprovider|match|include|xauthlocation|proxyusefdpass|askpass|stricthostkeychecking\s*=?\s*no|userknownhostsfile)/i.test(
        value,
      )
    )
      return !/^stricthost|^userknown/i.test(value);
    return /^-[FISD]$/.test(arg) || /^-[FIS]./.test(arg);
  });

const isEditor: Test = ({ argTexts }, text) =>
  argTexts.some((arg, at) => {
    const command = /^(?:-[a-zA-Z]*c|--cmd|-\+c|--remote-send|--remote-expr)$/.test(argTexts[at - 1] ?? "")
      ? arg
      : /^\+(.*)$/s.exec(arg)?.[1];
    return (
      (command !== undefined && EDITOR_RUNS.test(command)) ||
      /^-[a-zA-Z]*[SsW]$/.test(arg) ||
      /^--(?:eval|load)/.test(arg) ||
      arg === "-u"
    );
  }) || text.split("\n").some((line) => /^\s*(?::|\d|[.,$%])*\s*(?:[rwe]\s*)?!/.test(line));
const EDITOR_RUNS =
  /!|\bsystem|\bsh(?:ell)?\b|\bpy(?:thon|3|x|file)?\b|\blua|\bperl|\bruby|\bsource\b|\bso\b|\bcall\b|\bterm(?:inal)?\b|\bjob|\bexe|\bdelete\(|\bmake\b/;

const isEmacs: Test = ({ argTexts }) =>
  argTexts.some((arg) => /^-{1,2}(?:eval|execute|f|funcall|l|load|script|batch)(?:=|$)/.test(arg));

const isTar: Test = (call) => {
  const { argTexts } = call;
  return argTexts.some(
    (arg, at) =>
      (isLongOption(
        arg,
        "--checkpoint-action",
        "--to-command",
        "--rsh-command",
        "--info-script",
        "--new-volume-script",
      ) &&
        arg.length > 6) ||
      (isLongOption(arg, "--use-compress-program") &&
        arg.length > 5 &&
        !isPacker(arg.includes("=") ? arg : `=${argTexts[at + 1] ?? ""}`)) ||
      (/^-?[a-zA-Z]*I$/.test(arg) && at < 3 && !isPacker(`=${argTexts[at + 1] ?? ""}`)) ||
      (/^-I./.test(arg) && !isPacker(`=${arg.slice(2)}`)) ||
      /^-[a-zA-Z]*F$/.test(arg),
  );
};

function isPacker(arg: string): boolean {
  return /=(?:\/(?:usr\/)?bin\/)?(?:zstd|zstdmt|gzip|pigz|xz|pixz|bzip2|pbzip2|lbzip2|lz4|lzop|lzip|brotli)(?:\s+-[-\w=]*)*$/.test(
    arg,
  );
}

const isRsync: Test = ({ argTexts }) =>
  argTexts.some((arg, at) => {
    const value =
      arg === "-e" || /^-[a-zA-Z]*e$/.test(arg) || (isLongOption(arg, "--rsh") && !arg.includes("="))
        ? (argTexts[at + 1] ?? "")
        : (/^--rsh?=(.*)$/s.exec(arg)?.[1] ?? /^-e(.+)$/s.exec(arg)?.[1]);
    return (
      (value !== undefined && arg !== "--" && !/^ssh(?:\s+-[pil46]\s*[\w./~@-]*)*$/.test(value)) ||
      (isLongOption(arg, "--rsync-path") && arg.length > 5)
    );
  });

const isMake: Test = ({ argTexts }) =>
  argTexts.some(
    (arg) =>
      /^(?:SHELL|MAKEFLAGS|CC|CXX|LD|AR|PAGER|BASH_ENV|\.SHELLFLAGS)=/.test(arg) &&
      !/^(?:CC|CXX|LD|AR)=[\w.+-]*$/.test(arg),
  );

const TESTS: Readonly<Record<string, Test | undefined>> = {
  ssh: isSsh,
  scp: isSsh,
  sftp: isSsh,
  mosh: ({ argTexts }) => argTexts.some((arg) => isLongOption(arg, "--ssh", "--server")),
  "ssh-keygen": (call) => hasFlag(call, "D", "w"),
  "ssh-add": (call) => hasFlag(call, "s", "S"),
  rsync: isRsync,
  tar: isTar,
  gtar: isTar,
  bsdtar: isTar,
  zip: ({ argTexts }) => argTexts.some((arg) => /^-T{2}|^-[a-zA-Z]*TT|^--unzip-command/.test(arg)),
  make: isMake,
  gmake: isMake,
  cmake: ({ argTexts }) =>
    argTexts.includes("-P") || (argTexts[0] === "-E" && /^(?:env|time|chdir)$/.test(argTexts[1] ?? "")),
  man: (call) => call.argTexts.some((arg) => /^-[PH]|^--(?:pager|html)/.test(arg)),
  less: ({ argTexts }) => argTexts.some((arg) => /^\+.*[!|]/.test(arg)),
  more: ({ argTexts }) => argTexts.some((arg) => /^\+.*!/.test(arg)),
  vi: isEditor,
  vim: isEditor,
  nvim: isEditor,
  view: isEditor,
  vimdiff: isEditor,
  rvim: isEditor,
  gvim: isEditor,
  ex: isEditor,
  ed: isEditor,
  red: isEditor,
  emacs: isEmacs,
  emacsclient: isEmacs,
  gdb: ({ argTexts }) =>
    argTexts.some((arg) => /^-{1,2}(?:ex|eval-command|x|command|ix|iex|batch)(?:=|$)/.test(arg)),
  lldb: ({ argTexts }) => argTexts.some((arg) => /^-[oOsSQ]$|^--(?:one-line|source)/.test(arg)),
  split: ({ argTexts }) => argTexts.some((arg) => isLongOption(arg, "--filter") && arg.length > 3),
  sort: ({ argTexts }) => argTexts.some((arg) => isLongOption(arg, "--compress-program") && arg.length > 4),
  wget: ({ argTexts }) =>
    argTexts.some(
      (arg) => (isLongOption(arg, "--use-askpass", "--execute") && arg.length > 4) || arg === "-e",
    ),
  tcpdump: (call) => hasFlag(call, "z"),
  nmap: ({ argTexts }) => argTexts.some((arg) => /^--(?:script|interactive)/.test(arg)),
  strace: ({ argTexts }) => argTexts.some((arg) => /^(?:-o)?[|!]/.test(arg)),
  gcc: ({ argTexts }) => argTexts.some((arg) => /^-wrapper|^-fplugin|^-B/.test(arg)),
  go: ({ argTexts }) =>
    argTexts.some((arg) => /^-{1,2}(?:toolexec|exec)\b/.test(arg)) || argTexts[0] === "generate",
  cargo: ({ argTexts }) => argTexts.some((arg) => arg === "--config" || /^--config=/.test(arg)),
  npm: ({ argTexts, operands }) =>
    argTexts.some((arg) => /^--(?:script-shell|node-options|init-module)\b/.test(arg)) ||
    (/^(?:config|c|set)$/.test(operands[0] ?? "") &&
      argTexts.some((arg) => /script-shell|node-options|shell|editor|viewer|git/.test(arg)) &&
      operands[1] !== "get") ||
    (operands[0] === "pkg" && operands[1] === "set" && argTexts.some((arg) => arg.startsWith("scripts."))),
  screen: ({ argTexts }) => argTexts.includes("-X"),
  tmux: ({ argTexts }) =>
    argTexts.some((arg) =>
      /^(?:run|run-shell|if|if-shell|pipe-pane|pipep|send|send-keys|source|source-file|set-hook)$/.test(arg),
    ),
  nodemon: (call) => hasFlag(call, "x", "--exec"),
  mapfile: ({ argTexts }) => argTexts.some((arg) => /^-[a-zA-Z]*C/.test(arg)),
  readarray: ({ argTexts }) => argTexts.some((arg) => /^-[a-zA-Z]*C/.test(arg)),
  complete: ({ argTexts }) => argTexts.some((arg) => /^-[a-zA-Z]*C/.test(arg)),
  bind: ({ argTexts }) => argTexts.some((arg) => /^-[a-zA-Z]*[xf]/.test(arg)),
  hash: (call) => hasFlag(call, "p"),
  enable: (call) => hasFlag(call, "f"),
  fc: (call) => !hasFlag(call, "l"),
  history: (call) => hasFlag(call, "s", "r", "n"),
  ansible: (call) => call.argTexts.length > 0 && !hasFlag(call, "--version"),
  ftp: (_, text) => /(?:^|\n)\s*!/.test(text),
  dpkg: ({ argTexts }) => argTexts.some((arg) => /^--(?:pre|post|status)-/.test(arg)),
  apt: ({ argTexts }) =>
    argTexts.some(
      (arg, at) => /^-o/.test(arg) && /invoke|::run|options/i.test(`${arg}${argTexts[at + 1] ?? ""}`),
    ),
  "apt-get": ({ argTexts }) =>
    argTexts.some(
      (arg, at) => /^-o/.test(arg) && /invoke|::run|options/i.test(`${arg}${argTexts[at + 1] ?? ""}`),
    ),
  pip: ({ argTexts }) => argTexts.includes("--config-settings"),
  openssl: ({ argTexts }) => argTexts.includes("-engine") || argTexts.includes("-provider"),
  docker: ({ argTexts }) => argTexts.some((arg) => /^(?:-H|--host)/.test(arg)),
  xterm: (call) => hasFlag(call, "e"),
  "gnome-terminal": ({ argTexts }) => argTexts.length > 0,
  konsole: (call) => hasFlag(call, "e"),
  open: ({ argTexts }) =>
    argTexts.includes("-a") || argTexts.some((arg) => /\.(?:app|command|workflow)$/.test(arg)),
  "run-parts": () => true,
  logrotate: () => true,
  journalctl: ({ argTexts }) => argTexts.some((arg) => /^--(?:vacuum|rotate|flush)/.test(arg)),
};
