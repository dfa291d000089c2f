import type { Call } from "./call.ts";
import { has, isLong, type Rule } from "./rule.ts";
import { sedEffects } from "./sed-rules.ts";

/** Programs of everyday use that run others by an option. */
export const OPTION_RULES: readonly Rule[] = [
  {
    kind: "runs-program",
    why: "makes a program run another one by an option or a setting",
    is: (call, { text = "" }) => {
      const test = Object.hasOwn(TESTS, call.program) ? TESTS[call.program] : undefined;
      return (
        (test?.(call, text) ?? false) ||
        sedEffects(call).runs.length > 0 ||
        call.given.some(
          (arg) =>
            /^--(?:use-compress-program|checkpoint-action|to-command|rsh-command)\b/.test(arg) &&
            !isPacker(arg),
        )
      );
    },
  },
];

type Test = (call: Call, text: string) => boolean;

const isSsh: Test = ({ given }) =>
  given.some((arg, at) => {
    const value = /^-[a-zA-Z\d]*o$/.test(arg) ? (given[at + 1] ?? "") : /^-[a-zA-Z\d]*?o(.+)$/.exec(arg)?.[1];
    if (
      value !== undefined &&
      /^\s*["']?(?:proxycommand|localcommand|permitlocalcommand|knownhostscommand|pkcs11provider|securitykeyprovider|match|include|xauthlocation|proxyusefdpass|askpass|stricthostkeychecking\s*=?\s*no|userknownhostsfile)/i.test(
        value,
      )
    )
      return !/^stricthost|^userknown/i.test(value);
    return /^-[FISD]$/.test(arg) || /^-[FIS]./.test(arg);
  });

const isEditor: Test = ({ given }, text) =>
  given.some((arg, at) => {
    const command = /^(?:-[a-zA-Z]*c|--cmd|-\+c|--remote-send|--remote-expr)$/.test(given[at - 1] ?? "")
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

const isEmacs: Test = ({ given }) =>
  given.some((arg) => /^-{1,2}(?:eval|execute|f|funcall|l|load|script|batch)(?:=|$)/.test(arg));

const isTar: Test = (call) => {
  const { given } = call;
  return given.some(
    (arg, at) =>
      (isLong(
        arg,
        "--checkpoint-action",
        "--to-command",
        "--rsh-command",
        "--info-script",
        "--new-volume-script",
      ) &&
        arg.length > 6) ||
      (isLong(arg, "--use-compress-program") &&
        arg.length > 5 &&
        !isPacker(arg.includes("=") ? arg : `=${given[at + 1] ?? ""}`)) ||
      (/^-?[a-zA-Z]*I$/.test(arg) && at < 3 && !isPacker(`=${given[at + 1] ?? ""}`)) ||
      (/^-I./.test(arg) && !isPacker(`=${arg.slice(2)}`)) ||
      /^-[a-zA-Z]*F$/.test(arg),
  );
};

function isPacker(arg: string): boolean {
  return /=(?:\/(?:usr\/)?bin\/)?(?:zstd|zstdmt|gzip|pigz|xz|pixz|bzip2|pbzip2|lbzip2|lz4|lzop|lzip|brotli)(?:\s+-[-\w=]*)*$/.test(
    arg,
  );
}

const isRsync: Test = ({ given }) =>
  given.some((arg, at) => {
    const value =
      arg === "-e" || /^-[a-zA-Z]*e$/.test(arg) || (isLong(arg, "--rsh") && !arg.includes("="))
        ? (given[at + 1] ?? "")
        : (/^--rsh?=(.*)$/s.exec(arg)?.[1] ?? /^-e(.+)$/s.exec(arg)?.[1]);
    return (
      (value !== undefined && arg !== "--" && !/^ssh(?:\s+-[pil46]\s*[\w./~@-]*)*$/.test(value)) ||
      (isLong(arg, "--rsync-path") && arg.length > 5)
    );
  });

const isMake: Test = ({ given }) =>
  given.some(
    (arg) =>
      /^(?:SHELL|MAKEFLAGS|CC|CXX|LD|AR|PAGER|BASH_ENV|\.SHELLFLAGS)=/.test(arg) &&
      !/^(?:CC|CXX|LD|AR)=[\w.+-]*$/.test(arg),
  );

const TESTS: Readonly<Record<string, Test | undefined>> = {
  ssh: isSsh,
  scp: isSsh,
  sftp: isSsh,
  mosh: ({ given }) => given.some((arg) => isLong(arg, "--ssh", "--server")),
  "ssh-keygen": (call) => has(call, "D", "w"),
  "ssh-add": (call) => has(call, "s", "S"),
  rsync: isRsync,
  tar: isTar,
  gtar: isTar,
  bsdtar: isTar,
  zip: ({ given }) => given.some((arg) => /^-T{2}|^-[a-zA-Z]*TT|^--unzip-command/.test(arg)),
  make: isMake,
  gmake: isMake,
  cmake: ({ given }) =>
    given.includes("-P") || (given[0] === "-E" && /^(?:env|time|chdir)$/.test(given[1] ?? "")),
  man: (call) => call.given.some((arg) => /^-[PH]|^--(?:pager|html)/.test(arg)),
  less: ({ given }) => given.some((arg) => /^\+.*[!|]/.test(arg)),
  more: ({ given }) => given.some((arg) => /^\+.*!/.test(arg)),
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
  gdb: ({ given }) =>
    given.some((arg) => /^-{1,2}(?:ex|eval-command|x|command|ix|iex|batch)(?:=|$)/.test(arg)),
  lldb: ({ given }) => given.some((arg) => /^-[oOsSQ]$|^--(?:one-line|source)/.test(arg)),
  split: ({ given }) => given.some((arg) => isLong(arg, "--filter") && arg.length > 3),
  sort: ({ given }) => given.some((arg) => isLong(arg, "--compress-program") && arg.length > 4),
  wget: ({ given }) =>
    given.some((arg) => (isLong(arg, "--use-askpass", "--execute") && arg.length > 4) || arg === "-e"),
  tcpdump: (call) => has(call, "z"),
  nmap: ({ given }) => given.some((arg) => /^--(?:script|interactive)/.test(arg)),
  strace: ({ given }) => given.some((arg) => /^(?:-o)?[|!]/.test(arg)),
  gcc: ({ given }) => given.some((arg) => /^-wrapper|^-fplugin|^-B/.test(arg)),
  go: ({ given }) => given.some((arg) => /^-{1,2}(?:toolexec|exec)\b/.test(arg)) || given[0] === "generate",
  cargo: ({ given }) => given.some((arg) => arg === "--config" || /^--config=/.test(arg)),
  npm: ({ given, operands }) =>
    given.some((arg) => /^--(?:script-shell|node-options|init-module)\b/.test(arg)) ||
    (/^(?:config|c|set)$/.test(operands[0] ?? "") &&
      given.some((arg) => /script-shell|node-options|shell|editor|viewer|git/.test(arg)) &&
      operands[1] !== "get") ||
    (operands[0] === "pkg" && operands[1] === "set" && given.some((arg) => arg.startsWith("scripts."))),
  screen: ({ given }) => given.includes("-X"),
  tmux: ({ given }) =>
    given.some((arg) =>
      /^(?:run|run-shell|if|if-shell|pipe-pane|pipep|send|send-keys|source|source-file|set-hook)$/.test(arg),
    ),
  nodemon: (call) => has(call, "x", "--exec"),
  mapfile: ({ given }) => given.some((arg) => /^-[a-zA-Z]*C/.test(arg)),
  readarray: ({ given }) => given.some((arg) => /^-[a-zA-Z]*C/.test(arg)),
  complete: ({ given }) => given.some((arg) => /^-[a-zA-Z]*C/.test(arg)),
  bind: ({ given }) => given.some((arg) => /^-[a-zA-Z]*[xf]/.test(arg)),
  hash: (call) => has(call, "p"),
  enable: (call) => has(call, "f"),
  fc: (call) => !has(call, "l"),
  history: (call) => has(call, "s", "r", "n"),
  ansible: (call) => call.given.length > 0 && !has(call, "--version"),
  ftp: (_, text) => /(?:^|\n)\s*!/.test(text),
  dpkg: ({ given }) => given.some((arg) => /^--(?:pre|post|status)-/.test(arg)),
  apt: ({ given }) =>
    given.some((arg, at) => /^-o/.test(arg) && /invoke|::run|options/i.test(`${arg}${given[at + 1] ?? ""}`)),
  "apt-get": ({ given }) =>
    given.some((arg, at) => /^-o/.test(arg) && /invoke|::run|options/i.test(`${arg}${given[at + 1] ?? ""}`)),
  pip: ({ given }) => given.includes("--config-settings"),
  openssl: ({ given }) => given.includes("-engine") || given.includes("-provider"),
  docker: ({ given }) => given.some((arg) => /^(?:-H|--host)/.test(arg)),
  xterm: (call) => has(call, "e"),
  "gnome-terminal": ({ given }) => given.length > 0,
  konsole: (call) => has(call, "e"),
  open: ({ given }) => given.includes("-a") || given.some((arg) => /\.(?:app|command|workflow)$/.test(arg)),
  "run-parts": () => true,
  logrotate: () => true,
  journalctl: ({ given }) => given.some((arg) => /^--(?:vacuum|rotate|flush)/.test(arg)),
};
