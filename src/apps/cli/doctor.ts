import { existsSync } from "node:fs";
import { PostriderError } from "../../core/errors.ts";
import { pluralize } from "../../core/pluralize.ts";
import { type CheckDepth, checkDatabase, fixDatabase } from "../../stores/sqlite/upkeep/check-database.ts";
import type { Finding } from "../../stores/sqlite/upkeep/findings.ts";
import { reportOk, reportProblem, reportWarning } from "../../stores/sqlite/upkeep/findings.ts";
import { readLayers } from "../config/layers.ts";
import { type Home, resolveHome } from "../home.ts";
import { isSharedStore, openHomeStore, requireSqlite } from "../open-store.ts";
import { findFormerWorkspaces, formatManualMove, resolveWorkspaces } from "../workspace.ts";
import { type Command, defineCommand, JSON_OPTION, usageError } from "./command.ts";
import { locateConfig } from "./config/local-config.ts";
import { checkCopies, checkDiskSpace, checkNode, checkPermissions, fixPermissions } from "./home-checks.ts";
import { type Io, printJson, printLine } from "./io.ts";
import { checkKeeper, fixKeeper } from "./keeper-check.ts";
import { createProgress } from "./progress.ts";

/** Checks the home. Writes nothing without --fix, --scrub or --salvage. */
export const doctorCommand: Command = defineCommand({
  name: "doctor",
  takes: "[FILE]",
  words: [0, 1],
  about:
    "Checks this home: the machine, file permissions, the database, and the consistency of its data. It writes nothing\nwithout --fix or --scrub. The exit code is 1 when a problem remains.",
  options: {
    fix: { type: "flag", help: "repair the search index, counters and permissions" },
    quick: { type: "flag", help: "skip the checks that read all data: takes a few seconds at any size" },
    full: { type: "flag", help: "also check every index entry and attachment; takes longer" },
    salvage: {
      type: "flag",
      help: "save the readable part of a broken database (or of FILE) to a new file beside it",
    },
    scrub: { type: "flag", help: "rewrite the database file without remnants of deleted data" },
    json: JSON_OPTION,
  },
  examples: [
    ["postrider doctor", "check everything"],
    ["postrider doctor --quick", "check in seconds, without reading every message"],
    ["postrider doctor --fix", "repair the index, the counters and the permissions"],
    ["postrider doctor --salvage", "save the readable part of a broken database"],
  ],
  async run({ words: [file], values }, io) {
    const home = resolveHome(io.environment);
    if (values.salvage) {
      const { runSalvage } = await import("./salvage.ts");
      return runSalvage(file ?? home.database, io, values.json);
    }
    if (values.scrub || values.fix)
      await requireSqlite(
        home,
        io.environment,
        `doctor --${values.scrub ? "scrub" : "fix"}`,
        "VACUUM on the server removes deleted rows.",
      );
    if (values.scrub && existsSync(home.database)) {
      const { scrubHome } = await import("./scrub.ts");
      if (!(await scrubHome(io))) return 1;
    }
    if (file !== undefined) throw usageError("FILE needs --salvage", "doctor");
    if (values.quick && (values.full || values.fix))
      throw usageError("--quick cannot be used with --full or --fix", "doctor");
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
    return [...machine, reportOk("home", `${home.folder} does not exist yet; the first use creates it.`)];
  const around = [
    ...machine,
    reportOk("home", `${home.folder}.`),
    checkPermissions(home),
    ...checkWorkspaces(home, io),
  ];
  if (await isSharedStore(home, io.environment))
    return [...around, await checkServer(home, io), await checkKeeper(home)];
  if (!existsSync(home.database) && !existsSync(`${home.database}-wal`))
    return [...around, reportOk("database", "There is no database yet; the first use creates it.")];
  const copies = checkCopies(home, io.now());
  const progress = createProgress(io, "checking");
  const database = checkDatabase(home.database, { depth, now: io.now(), onStep: progress.update });
  progress.end();
  return [...around, copies, ...database, await checkKeeper(home)];
}

/** The server checks its own files; here it must answer, and know the schema. */
async function checkServer(home: Home, io: Io): Promise<Finding> {
  try {
    const store = await openHomeStore({ home, environment: io.environment });
    const { sessions, messages } = await store.sessions.getStats({ asker: { everyone: true } });
    await store.close();
    return reportOk(
      "database",
      `PostgreSQL answers: ${pluralize(sessions, "session")}, ${pluralize(messages, "message")}.`,
    );
  } catch (error) {
    if (!(error instanceof PostriderError)) throw error;
    return reportProblem(
      "database",
      error.message,
      "Check the address in POSTRIDER_STORE or config.yaml, and the server.",
    );
  }
}

/** Agents cannot read the files that earlier versions kept in the home. The gateway moves them at its start. */
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
      `${former} contains files of agents, but agents now work in ${workspaces} and cannot read them.`,
      `The next start of the gateway moves them if ${workspaces} is empty. Otherwise run: ${formatManualMove(former, workspaces)}`,
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
