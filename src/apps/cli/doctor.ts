import { existsSync } from "node:fs";
import { checkDatabase, fixDatabase } from "../../stores/sqlite/upkeep/checkup.ts";
import type { Finding } from "../../stores/sqlite/upkeep/findings.ts";
import { fine } from "../../stores/sqlite/upkeep/findings.ts";
import { type Home, homeOf } from "../home.ts";
import { type Command, defineCommand, JSON_OPTION, wrongArguments } from "./command.ts";
import { checkCopies, checkNode, checkPermissions, checkRoom, fixPermissions } from "./home-checks.ts";
import { type Io, say, sayJson } from "./io.ts";
import { checkKeeper, fixKeeper } from "./keeper-check.ts";

/** Looks whether everything is as it should be. Writes nothing unless asked to. */
export const doctor: Command = defineCommand({
  name: "doctor",
  takes: "[FILE]",
  words: [0, 1],
  about:
    "Checks this home: the machine, who may look inside, the database, and that everything in it agrees. Nothing is\nwritten without --fix or --scrub. The exit code is 1 when a problem is left.",
  options: {
    fix: { type: "flag", help: "mend what can be made again from something else" },
    full: { type: "flag", help: "look at every index entry and attachment too; takes longer" },
    salvage: {
      type: "flag",
      help: "save what can be read of a broken database (or of FILE) into a new file beside it",
    },
    scrub: { type: "flag", help: "write the database anew, without remnants of what was removed" },
    json: JSON_OPTION,
  },
  examples: [
    ["postrider doctor", "is everything all right?"],
    ["postrider doctor --fix", "mend the index, the counters, permissions"],
    ["postrider doctor --salvage", "save what can be read of a broken database"],
  ],
  async run({ words: [file], values }, io) {
    const home = homeOf(io.environment);
    if (values.salvage) {
      const { salvage } = await import("./salvage.ts");
      return salvage(file ?? home.database, io, values.json);
    }
    if (values.scrub && existsSync(home.database)) {
      const { scrub } = await import("./scrub.ts");
      if (!(await scrub(io))) return 1;
    }
    if (file !== undefined) throw wrongArguments("FILE is only for --salvage", "doctor");
    return examine(home, io, values);
  },
});

async function examine(
  home: Home,
  io: Io,
  { fix, full, json }: { readonly fix: boolean; readonly full: boolean; readonly json: boolean },
): Promise<number> {
  const fixed: string[] = [];
  let findings = await findingsOf(home, io, full);
  if (fix) {
    mend(home, io, findings, fixed);
    findings = await findingsOf(home, io, full);
  }
  const problems = findings.filter(({ state }) => state === "problem").length;
  if (json) {
    const checks = findings.map(({ check, state, text, todo = null }) => ({ check, state, text, todo }));
    sayJson(io, { home: home.folder, ok: problems === 0, checks, fixed });
  } else {
    for (const text of fixed) say(io, `fixed    ${text}`);
    for (const { state, text, todo } of findings)
      say(io, `${state.padEnd(8)} ${text}${todo === undefined ? "" : ` ${todo}`}`);
  }
  return problems === 0 ? 0 : 1;
}

async function findingsOf(home: Home, io: Io, full: boolean): Promise<Finding[]> {
  const machine = [checkNode(process.version), checkRoom(home)];
  if (!existsSync(home.folder))
    return [...machine, fine("home", `Nothing is kept in ${home.folder} yet; the first use makes it.`)];
  const around = [...machine, fine("home", `${home.folder}.`), checkPermissions(home)];
  if (!existsSync(home.database) && !existsSync(`${home.database}-wal`))
    return [...around, fine("database", "No database yet; the first use makes it.")];
  const copies = checkCopies(home, io.now());
  return [
    ...around,
    copies,
    ...checkDatabase(home.database, { full, now: io.now() }),
    await checkKeeper(home),
  ];
}

function mend(home: Home, io: Io, findings: readonly Finding[], fixed: string[]): void {
  const closed = fixPermissions(home);
  if (closed !== undefined) fixed.push(closed);
  if (findings.some(({ check, fixable }) => check === "keeper" && fixable)) fixed.push(fixKeeper(home));
  if (!existsSync(home.database)) return;
  fixDatabase(home.database, findings, { now: io.now(), onDone: (text) => fixed.push(text) });
}
