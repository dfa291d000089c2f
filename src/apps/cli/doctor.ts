import { existsSync } from "node:fs";
import { type CheckDepth, checkDatabase, fixDatabase } from "../../stores/sqlite/upkeep/check-database.ts";
import type { Finding } from "../../stores/sqlite/upkeep/findings.ts";
import { reportOk, reportWarning } from "../../stores/sqlite/upkeep/findings.ts";
import { readLayers } from "../config/layers.ts";
import { type Home, resolveHome } from "../home.ts";
import { findFormerWorkspaces, formatManualMove, resolveWorkspaces } from "../workspace.ts";
import { type Command, defineCommand, JSON_OPTION, usageError } from "./command.ts";
import { locateConfig } from "./config/local-config.ts";
import { checkCopies, checkDiskSpace, checkNode, checkPermissions, fixPermissions } from "./home-checks.ts";
import { type Io, printJson, printLine } from "./io.ts";
import { checkKeeper, fixKeeper } from "./keeper-check.ts";
import { createProgress } from "./progress.ts";

/** Looks whether everything is as it should be. Writes nothing unless asked to. */
export const doctorCommand: Command = defineCommand({
  name: "doctor",
  takes: "[FILE]",
  words: [0, 1],
  about:
    "Checks this home: the machine, who may look inside, the database, and that everything in it agrees. Nothing is\nwritten without --fix or --scrub. The exit code is 1 when a problem is left.",
  options: {
    fix: { type: "flag", help: "mend what can be made again from something else" },
    quick: { type: "flag", help: "leave out what reads everything: a few seconds, however much there is" },
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
    ["postrider doctor --quick", "the same within seconds, without reading every message"],
    ["postrider doctor --fix", "mend the index, the counters, permissions"],
    ["postrider doctor --salvage", "save what can be read of a broken database"],
  ],
  async run({ words: [file], values }, io) {
    const home = resolveHome(io.environment);
    if (values.salvage) {
      const { runSalvage: salvage } = await import("./salvage.ts");
      return salvage(file ?? home.database, io, values.json);
    }
    if (values.scrub && existsSync(home.database)) {
      const { scrubHome: scrub } = await import("./scrub.ts");
      if (!(await scrub(io))) return 1;
    }
    if (file !== undefined) throw usageError("FILE is only for --salvage", "doctor");
    if (values.quick && (values.full || values.fix))
      throw usageError("--quick looks at too little for --full or --fix", "doctor");
    const depth = values.quick ? "quick" : values.full ? "full" : "usual";
    return examine(home, io, { ...values, depth });
  },
});

async function examine(
  home: Home,
  io: Io,
  { fix, depth, json }: { readonly fix: boolean; readonly depth: CheckDepth; readonly json: boolean },
): Promise<number> {
  const fixed: string[] = [];
  let findings = await collectFindings(home, io, depth);
  if (fix) {
    fixFindings(home, io, findings, fixed);
    findings = await collectFindings(home, io, depth);
  }
  const problems = findings.filter(({ state }) => state === "problem").length;
  if (json) {
    const checks = findings.map(({ check, state, text, todo = null }) => ({ check, state, text, todo }));
    printJson(io, { home: home.folder, ok: problems === 0, checks, fixed });
  } else {
    for (const text of fixed) printLine(io, `fixed    ${text}`);
    for (const { state, text, todo } of findings)
      printLine(io, `${state.padEnd(8)} ${text}${todo === undefined ? "" : ` ${todo}`}`);
  }
  return problems === 0 ? 0 : 1;
}

async function collectFindings(home: Home, io: Io, depth: CheckDepth): Promise<Finding[]> {
  const machine = [checkNode(process.version), checkDiskSpace(home)];
  if (!existsSync(home.folder))
    return [...machine, reportOk("home", `Nothing is kept in ${home.folder} yet; the first use makes it.`)];
  const around = [
    ...machine,
    reportOk("home", `${home.folder}.`),
    checkPermissions(home),
    ...checkWorkspaces(home, io),
  ];
  if (!existsSync(home.database) && !existsSync(`${home.database}-wal`))
    return [...around, reportOk("database", "No database yet; the first use makes it.")];
  const copies = checkCopies(home, io.now());
  const progress = createProgress(io, "checking");
  const database = checkDatabase(home.database, { depth, now: io.now(), onStep: progress.update });
  progress.end();
  return [...around, copies, ...database, await checkKeeper(home)];
}

/** Agents do not reach what earlier versions kept in the home; a gateway that starts moves it, if it can. */
function checkWorkspaces(home: Home, io: Io): Finding[] {
  const former = findFormerWorkspaces(home);
  if (former === undefined) return [];
  const configured = readLayers(locateConfig(io)).values.get("tools.workspace")?.value;
  const workspaces = resolveWorkspaces(
    home,
    configured === undefined ? {} : { workspace: String(configured) },
  );
  return [
    reportWarning(
      "workspaces",
      `${former} holds files of agents, who work in ${workspaces} now and do not reach them.`,
      `The next start of the gateway moves them, if nothing is there yet. Else: ${formatManualMove(former, workspaces)}`,
    ),
  ];
}

function fixFindings(home: Home, io: Io, findings: readonly Finding[], fixed: string[]): void {
  const closed = fixPermissions(home);
  if (closed !== undefined) fixed.push(closed);
  if (findings.some(({ check, fixable }) => check === "keeper" && fixable)) fixed.push(fixKeeper(home));
  if (!existsSync(home.database)) return;
  fixDatabase(home.database, findings, { now: io.now(), onDone: (text) => fixed.push(text) });
}
