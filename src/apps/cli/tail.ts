import { PostriderError } from "../../core/errors.ts";
import { pause } from "../../system/pause.ts";
import { resolveHome } from "../home.ts";
import { createLineFormatter } from "../log/line-formatter.ts";
import { createLineReader } from "../log/line-reader.ts";
import { getLogFile, LOGS_KEPT } from "../log/open-log.ts";
import { type Command, defineCommand, usageError } from "./command.ts";
import { hasColor, type Io } from "./io.ts";
import { withStore } from "./open-home.ts";
import { resolveSessionArgument } from "./session-argument.ts";

const LEVELS = ["trace", "debug", "info", "warn", "error", "fatal"];
const POLL_MS = 200;
const DEFAULT_LINES = 50;

export const tailCommand: Command = defineCommand({
  name: "tail",
  about: `Shows the newest lines of the gateway's log. -f follows the log, also across rotation. --session shows only the lines
of one session and its turns.`,
  options: {
    follow: { type: "flag", short: "f", help: "follow the log until Ctrl-C" },
    lines: {
      type: "count",
      short: "n",
      help: `the number of lines (default ${DEFAULT_LINES}); 0 for none`,
    },
    session: { type: "text", value: "SESSION", help: "only lines of this session: handle, id or title" },
    level: { type: "text", value: "LEVEL", help: `only this level and higher: ${LEVELS.join(", ")}` },
    json: { type: "flag", help: "print the stored lines: one JSON object each" },
  },
  examples: [
    ["postrider tail -f", "follow the gateway"],
    ["postrider tail --session k7f -n 200", "show the log of one session"],
    ["postrider tail --level warn --json", "show warnings and errors, for a script"],
  ],
  async run({ values }, io) {
    if (values.level !== undefined && !LEVELS.includes(values.level))
      throw usageError(`--level must be one of ${LEVELS.join(", ")}, not "${values.level}"`, "tail");
    const isWanted = await buildLineFilter(io, values.session, values.level);
    const file = getLogFile(resolveHome(io.environment));
    const reader = createLineReader(file, LOGS_KEPT);
    const first = reader.read();
    if (first.length === 0 && !values.follow)
      throw new PostriderError("not_found", `${file} does not exist yet. postrider gateway run writes it.`);
    const pretty = createLineFormatter({ color: hasColor(io) });
    const show = (line: string): void =>
      void io.output.write(values.json ? `${line}\n` : pretty(`${line}\n`));
    takeNewest(first.filter(isWanted), values.lines ?? DEFAULT_LINES).forEach(show);
    while (values.follow) {
      await pause(POLL_MS);
      reader.read().filter(isWanted).forEach(show);
    }
  },
});

function takeNewest(lines: readonly string[], count: number): readonly string[] {
  return count === 0 ? [] : lines.slice(-count);
}

/** A line that is not JSON is incomplete, and is shown only without filters. */
async function buildLineFilter(
  io: Io,
  name: string | undefined,
  level: string | undefined,
): Promise<(line: string) => boolean> {
  if (name === undefined && level === undefined) return () => true;
  const session =
    name === undefined
      ? undefined
      : (await withStore(io, ({ store }) => resolveSessionArgument(store, { everyone: true }, name))).id;
  const turns = new Set<unknown>();
  return (line) => {
    const fields = parseLogLine(line);
    if (fields === undefined) return false;
    // Some lines name only the turn; an earlier line names the session of that turn.
    if (session !== undefined && fields.session === session && fields.turn !== undefined)
      turns.add(fields.turn);
    const isOfSession = session === undefined || fields.session === session || turns.has(fields.turn);
    return (
      isOfSession && (level === undefined || LEVELS.indexOf(String(fields.level)) >= LEVELS.indexOf(level))
    );
  };
}

function parseLogLine(line: string): Readonly<Record<string, unknown>> | undefined {
  try {
    return JSON.parse(line) as Record<string, unknown>;
  } catch {
    return undefined;
  }
}
