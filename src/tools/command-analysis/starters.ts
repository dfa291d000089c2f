/** A program that starts another: its options with a value, and the number of its operands. */
export interface Starter {
  readonly values?: string;
  readonly operands?: number;
  readonly isBatch?: true;
}

export const STARTERS: Readonly<Record<string, Starter | undefined>> = {
  sudo: { values: "u g h p C r t D R T U -user -group -host -chdir" },
  doas: { values: "u C" },
  pkexec: { values: "-user" },
  gosu: { operands: 1 },
  "su-exec": { operands: 1 },
  setpriv: { values: "-reuid -regid -groups" },
  env: { values: "u C a -unset -chdir -argv0" },
  command: {},
  builtin: {},
  exec: { values: "a" },
  nohup: {},
  setsid: {},
  nice: { values: "n -adjustment" },
  ionice: { values: "c n p -class -classdata" },
  time: { values: "f o -format -output" },
  timeout: { values: "s k -signal -kill-after", operands: 1 },
  gtimeout: { values: "s k", operands: 1 },
  stdbuf: { values: "i o e -input -output -error" },
  unbuffer: {},
  caffeinate: { values: "t w" },
  taskset: { operands: 1 },
  numactl: { values: "C N m" },
  chrt: { values: "T P D", operands: 1 },
  prlimit: {},
  setarch: { operands: 1 },
  linux32: {},
  linux64: {},
  strace: { values: "e o p s E u" },
  ltrace: { values: "e o p s" },
  chroot: { operands: 1 },
  unshare: { values: "S G R w" },
  nsenter: { values: "t S G" },
  "systemd-run": { values: "p u -unit -property" },
  "systemd-inhibit": {},
  "dbus-run-session": {},
  "dbus-launch": {},
  "xvfb-run": { values: "n s e f p w" },
  fakeroot: {},
  firejail: {},
  bwrap: {},
  proot: { values: "r b w" },
  eatmydata: {},
  rlwrap: {},
  catchsegv: {},
  valgrind: {},
  perf: { operands: 1 },
  daemonize: { values: "a e o p l u c" },
  "start-stop-daemon": { values: "p x n u" },
  setlock: { operands: 1 },
  chpst: { values: "u U e / n m d o p f c t l L" },
  flock: { values: "w E -timeout", operands: 1 },
  runuser: { values: "u g" },
  busybox: {},
  toybox: {},
  coproc: {},
  npx: { values: "p -package" },
  bunx: {},
  pnpx: {},
  uvx: {},
  pipx: { operands: 1 },
  xargs: {
    values: "I n P L d a s E -arg-file -delimiter -max-args -max-procs -replace -max-lines -max-chars",
    isBatch: true,
  },
  gxargs: { values: "I n P L d a s E", isBatch: true },
  parallel: { values: "j a -jobs -arg-file -a", isBatch: true },
  entr: {},
};

/** Programs that never run their arguments. All others may start another program. */
const NOT_RUNNING: ReadonlySet<string> = new Set(
  [
    "echo printf cat tac head tail less more nl wc sort uniq cut tr rev fold paste column pr comm join tee",
    "grep egrep fgrep zgrep rg ag ack git hg svn ls dir tree stat file du df pwd cd pushd popd mkdir rmdir touch",
    "rm cp mv ln install chmod chown chgrp test [ [[ true false : export declare local readonly typeset unset set",
    "man info help which whereis type hash whatis apropos alias unalias trap return exit shift wait jobs kill",
    "pkill killall pgrep ps top htop id who whoami groups users uname hostname date cal sleep seq yes",
    "apt apt-get aptitude dpkg brew dnf yum pacman apk zypper snap flatpak pip pip3 pipenv conda gem cargo go",
    "npm yarn pnpm bun make cmake gcc g++ cc clang tsc node python python3 ruby perl php java",
    "vi vim nvim nano emacs code open xdg-open sed awk gawk mawk jq yq diff cmp patch tar zip unzip gzip gunzip",
    "curl wget scp rsync sftp ping dig host nslookup nc docker podman kubectl helm terraform aws gcloud gh",
    "psql mysql sqlite3 redis-cli mongosh systemctl service launchctl crontab mount umount for case select",
    "md5sum sha1sum sha256sum sha512sum base64 base32 xxd od hexdump strings basename dirname realpath readlink",
    "eval sh bash zsh dash ksh fish source . history fc bind complete compgen shopt ulimit umask read mapfile let say osascript pytest jest vitest",
  ].flatMap((line) => line.split(" ")),
);

export function isKnownNotToRun(program: string): boolean {
  return NOT_RUNNING.has(program) || Object.hasOwn(STARTERS, program);
}

/** Programs that are checked wherever their name is an argument. */
const RISKY: ReadonlySet<string> = new Set(
  [
    "rm unlink shred srm wipe truncate dd mkfs mke2fs wipefs blkdiscard rimraf find xargs parallel",
    "sh bash zsh dash ksh fish csh tcsh eval env sudo doas su pkexec busybox",
    "python python3 perl ruby node php lua awk gawk sed osascript",
    "curl wget nc ncat socat scp rsync ssh git tar chmod chown mv cp tee kill pkill killall",
    "cat head tail grep less base64 xxd strings crontab at reboot shutdown poweroff halt systemctl",
    "psql mysql sqlite3 dropdb kubectl docker postrider",
  ].flatMap((line) => line.split(" ")),
);

export function isRisky(program: string): boolean {
  return RISKY.has(program);
}

/** The index of the started program, after options, assignments and operands of the starter. */
export function findStartedIndex(given: readonly string[], { values = "", operands = 0 }: Starter): number {
  const valued = new Set(values.split(" "));
  let left = operands;
  for (let at = 0; at < given.length; at += 1) {
    const text = given[at] ?? "";
    if (text.startsWith("-") && text.length > 1) {
      if (text !== "--" && valued.has(text.slice(1))) at += 1;
    } else if (/^[A-Za-z_]\w*=/.test(text)) continue;
    else if (left === 0) return at;
    else left -= 1;
  }
  return given.length;
}

/** The index for a starter by its name. */
export function findStartedIndexOf(given: readonly string[], program: string): number {
  return findStartedIndex(given, (Object.hasOwn(STARTERS, program) ? STARTERS[program] : undefined) ?? {});
}
