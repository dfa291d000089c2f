import { SET_LIMIT_MARK } from "./agent-mark.ts";

/*
 * The two shells of a command, which survive crashes of the keeper. They are POSIX sh: a megabyte each, and nothing to
 * install. The folder of the process is `$2` for the wrapper, and the working directory of the recorder; file descriptor 4
 * is the connection to the keeper.
 */

/**
 * The number of reads of 4 KiB in one part of the output: at most 32 MiB. Most commands print 4 KiB at a time, so larger
 * reads would only make smaller parts, after each of which the recorder waits for the keeper.
 */
const READS_IN_A_PART = 8192;
/** The maximum number of parts that the keeper has not read; then the recorder stops reading, and the command blocks. */
const MAX_PARTS = 3;

/** Runs a command in a session of its own. macOS has no setsid command, but it has Perl. */
const NEW_SESSION =
  process.platform === "darwin" ? "/usr/bin/perl -MPOSIX -e 'POSIX::setsid(); exec @ARGV'" : "setsid";

/**
 * Runs the command in the foreground, since a shell lets commands in the background ignore Ctrl-C, and writes its exit. A
 * shell returns 139 both for `exit 139` and for a crash, but prints a message only for the crash; it prints none for
 * SIGINT (2) and SIGPIPE (13). In brackets, since dash prints the message with the redirections of a bare command.
 */
const RUN = `trap : HUP INT QUIT PIPE TERM USR1 USR2 ALRM
exec 3>&2 2>"$2/said"
(${SET_LIMIT_MARK}; exec "$0" -c "$1" 2>&3 3>&-)
status=$?
exec 3>&-
how="code $status"
if [ $status -gt 128 ]; then
  number=$((status - 128))
  if [ -s "$2/said" ] || [ $number = 2 ] || [ $number = 13 ]; then how="signal $number"; fi
fi
while [ -d "$2" ] && ! echo "$how" >"$2/exit"; do sleep 1; done
printf '\\036%s ended\\036' "\${2##*/}"
`;

/**
 * The wrapper of a command with pipes. It starts the recorder itself, because a process that Node starts costs three
 * times as much: `$3` is the recorder's script, `$4` its PATH, and descriptor 3 its input. The recorder is started twice
 * in the background, so that it is no child of the wrapper, and in its own session and environment, so that it does not
 * end with the command. Both start in the folder of the process; the command runs in `$5`. If the keeper exits before it
 * writes a line, the command never runs, and without `in` the recorder exits, too.
 */
export const RUN_WITH_PIPES: string = `(/usr/bin/env -i PATH="$4" LC_ALL=C ${NEW_SESSION} /bin/sh -c "$3" "$2" <&3 >/dev/null 2>&1 3<&- &)
exec 3<&-
read -r go <&4 || { rm -f in; exit 125; }
exec 4<&-
cd "$5" || exit 126
unset OLDPWD
${RUN}`;

/** The wrapper of a command in a terminal: it must not read from the terminal, which would echo the line. */
export const RUN_IN_TERMINAL: string = `read -r go <"$2/gate" || exit 125
${RUN}`;

/**
 * Copies standard input into numbered parts until no process can print any more. `dd` writes each read at once and never
 * reads more than it writes; fewer reads than requested mean the end (or a terminal that hung up), unless the disk is
 * full. Once the folder is gone, output is discarded, so that a command that still prints does not block.
 */
const RECORD = `n=0
while :; do
  while [ -e "out.$((n - ${MAX_PARTS}))" ]; do sleep 0.05; done
  [ -e in ] || { kill -9 $holder; exec cat >/dev/null; }
  dd bs=4096 count=${READS_IN_A_PART} 2>reads >out.$n 4<&-
  status=$?
  [ -e in ] || continue
  reads=unknown
  while read -r words rest; do
    case $words in [0-9]*+[0-9]*) reads=$words; break ;; esac
  done <reads
  if [ $status != 0 ]; then
    echo >probe && break
    sleep 1
  elif [ ! -s out.$n ]; then
    break
  elif [ $reads != unknown ] && [ $(($reads)) -lt ${READS_IN_A_PART} ]; then
    break
  fi
  n=$((n + 1))
done
kill -9 $holder
echo >drained
echo drained >&4
read -r stored <&4
while [ -e in ]; do sleep 2; done
`;

/** Bound to the folder itself, not to its name: a second start of the same process makes a new folder with that name. */
const RECORDER_SETUP = `umask 077
exec 6<>secrets
trap '' HUP INT QUIT PIPE TERM USR1 USR2 ALRM
`;

/** With pipes, the input is held open until a line comes through the pipe `end`. */
export const RECORD_PIPES: string = `${RECORDER_SETUP}
(echo ready >&4; exec 4<&- 6<&-; read -r ended) 3<>in <>end >/dev/null &
holder=$!
${RECORD}`;

/** With a terminal, which stays open while this shell has it as descriptors 0 and 3, the input is copied into it. */
export const RECORD_TERMINAL: string = `${RECORDER_SETUP}
(echo ready >&4; exec cat 4<&- 6<&-) <>in >&3 3>&- &
holder=$!
exec 3>&-
read -r go <&4 || { kill -9 $holder; exit 125; }
exec 5<>gate
echo >&5
${RECORD}`;
