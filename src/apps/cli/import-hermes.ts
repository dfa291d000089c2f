import { existsSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import { pluralize } from "../../core/pluralize.ts";
import { assertZone } from "../../core/zone.ts";
import { systemZone } from "../../system/system-clock.ts";
import { resolveHome } from "../home.ts";
import { importHermes } from "../import/hermes/import-hermes.ts";
import type { ImportProblemKind } from "../import/hermes/import-problem.ts";
import { type ImportReport, type ImportSummary, writeReport } from "../import/hermes/report.ts";
import type { ImportTarget } from "../import/hermes/store-session.ts";
import { type Command, defineCommand, formatColumns, JSON_OPTION, usageError } from "./command.ts";
import { indexImported } from "./index-imported.ts";
import { type Io, printJson, printLine, printNotice } from "./io.ts";
import { withHome } from "./open-home.ts";

interface ImportRequest {
  readonly path: string;
  readonly zone: string;
  readonly strict: boolean;
  readonly dryRun: boolean;
}

/** Imports the sessions and chats of a Hermes home, which is only read. */
export const importHermesCommand: Command = defineCommand({
  name: "import hermes",
  takes: "PATH",
  words: [0, 1],
  about:
    "Imports sessions, transcripts, titles and chats from a Hermes home (or its state.db, or its sessions folder).\n" +
    "It only reads that home. You can stop it and run it again: it imports nothing twice.",
  options: {
    "dry-run": { type: "flag", help: "show the contents and write nothing" },
    strict: { type: "flag", help: "stop at the first unreadable line or row" },
    zone: {
      type: "text",
      value: "ZONE",
      help: "the time zone of its clock times (default: this machine's)",
    },
    json: JSON_OPTION,
  },
  examples: [
    ["postrider import hermes ~/.hermes --dry-run", "show what can be imported"],
    ["postrider import hermes ~/.hermes", "import it and continue the same chats"],
    [
      "postrider import hermes old/state.db --zone Europe/Berlin",
      "import only a database, from another machine",
    ],
  ],
  async run({ words: [path], values }, io) {
    if (path === undefined || path === "") throw usageError(formatMissingPath(), "import hermes");
    const zone = assertZone(values.zone ?? systemZone());
    const wanted = { path, zone, strict: values.strict, dryRun: values["dry-run"] };
    const summary = wanted.dryRun ? await previewImport(wanted, io) : await runImport(wanted, io);
    if (values.json) printJson(io, summary);
    else printSummary(summary, io);
    return summary.complete ? 0 : 1;
  },
});

function formatMissingPath(): string {
  const usual = join(homedir(), ".hermes");
  const hint = existsSync(usual) ? `, for example ${usual}` : "";
  return `postrider import hermes needs the PATH of a Hermes home${hint}.`;
}

/** A dry run without a database compares with nothing and creates none. */
async function previewImport(wanted: ImportRequest, io: Io): Promise<ImportSummary> {
  const exists = existsSync(resolveHome(io.environment).database);
  const { items: _, ...summary } = exists
    ? await withHome(io, (into) => importHome(wanted, io, into))
    : await importHome(wanted, io);
  return { ...summary, report: null };
}

async function runImport(wanted: ImportRequest, io: Io): Promise<ImportSummary> {
  const summary = await withHome(io, async ({ home, store, sessions }) => {
    const report = await importHome(wanted, io, { store, sessions });
    const { items: _, ...summary } = report;
    return { ...summary, report: writeReport(home.reports, report) };
  });
  indexImported(io, resolveHome(io.environment).database);
  return summary;
}

async function importHome(wanted: ImportRequest, io: Io, into?: ImportTarget): Promise<ImportReport> {
  const progress = createImportProgress(io, wanted.dryRun ? "Reading" : "Importing");
  try {
    return await importHermes({
      ...wanted,
      now: io.now(),
      clock: io.now,
      onProgress: progress.show,
      ...(into !== undefined && { target: into }),
    });
  } finally {
    progress.clear();
  }
}

const PROGRESS_MS = 100;

/** A progress line on a terminal; nothing in a pipe. */
function createImportProgress({ notices, now }: Io, doing: string) {
  let shownAt = 0;
  return {
    show(done: number, total: number): void {
      if (!notices.isTTY || now() - shownAt < PROGRESS_MS) return;
      shownAt = now();
      const width = 24;
      const filled = total === 0 ? width : Math.floor((done / total) * width);
      notices.write(`\r${doing} [${"#".repeat(filled).padEnd(width, ".")}] ${done}/${total} sessions`);
    },
    clear(): void {
      if (shownAt > 0) notices.write("\r\u001B[K");
    },
  };
}

const SHOWN_PROBLEMS = 10;
const WORST_FIRST: readonly ImportProblemKind[] = [
  "failed",
  "file",
  "corrupt",
  "too_large",
  "changed",
  "absent",
  "chat",
  "newer",
  "title",
  "id",
  "missing",
];

function printSummary(summary: ImportSummary, io: Io): void {
  const { sessions, messages, titles, conversations, problems } = summary;
  const found = [
    ["sessions", `${sessions.found} found, ${sessions.here} of them already imported`],
    [
      "messages",
      `${messages.total} (${messages.user} user, ${messages.assistant} assistant, ${messages.tool} tool, ${messages.note} note)`,
    ],
    ["tool calls", `${summary.tool_calls}`],
    ["titles", `${titles.found}`],
    ["lineage links", `${summary.lineage}`],
    ["chats", `${conversations.found}`],
    ["images and files", `${summary.blobs}`],
    ["corrupt lines", `${summary.corrupt}`],
    ["too large", `${summary.too_large}`],
    ["missing transcripts", `${summary.missing_transcripts}`],
    ["referenced but missing", pluralize(sessions.absent, "session")],
  ] as const;
  printLine(io, `${summary.dry_run ? "Dry run: nothing was written. " : ""}${summary.path} contains:`);
  printLine(io, formatColumns(found));
  if (!summary.dry_run) {
    printLine(
      io,
      `Imported ${sessions.imported}, continued ${sessions.grown}, unchanged ${sessions.unchanged}, changed there ${sessions.changed}, failed ${sessions.failed}. ${pluralize(conversations.placed, "chat continues", "chats continue")} here.`,
    );
  }
  const worst = problems.toSorted((a, b) => WORST_FIRST.indexOf(a.kind) - WORST_FIRST.indexOf(b.kind));
  for (const { file, line, session, why } of worst.slice(0, SHOWN_PROBLEMS)) {
    const place = [file, line].filter((part) => part !== null).join(":") || session;
    printNotice(io, `${place}: ${why}`);
  }
  const more = problems.length - SHOWN_PROBLEMS;
  if (more > 0)
    printNotice(
      io,
      `and ${more} more${summary.report === null ? "; --json lists them all" : ", in the report"}`,
    );
  if (!summary.complete)
    printNotice(io, "Some data was not imported: see above. You can safely run the import again.");
  if (summary.report === null) printLine(io, `To import it: postrider import hermes ${summary.path}`);
  else printLine(io, `Report: ${summary.report}`);
}
