import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { NewMessage, Role } from "../../../core/message.ts";
import { countToolCalls } from "../../../core/message.ts";
import type { ImportProblem, ImportProblemJson, ImportProblemKind } from "./import-problem.ts";
import type { ImportStatus } from "./store-session.ts";

/** One session of the source and the result of its import. */
export interface ReportItem {
  readonly id: string;
  /** The id in the source, if it is not valid here. */
  readonly original_id: string | null;
  readonly status: ImportStatus | "found";
  readonly read_from: "database" | "transcript" | "both";
  readonly platform: string | null;
  readonly title: string | null;
  readonly parent_session_id: string | null;
  readonly messages: number;
  /** The number of messages that only one of the two records has. */
  readonly database_only: number;
  readonly transcript_only: number;
  readonly hash: string;
  readonly conversations: number;
  readonly skipped: readonly ImportProblemJson[];
}

/** The result as JSON; see docs/json.md. */
export interface ImportSummary {
  readonly format: "postrider.import";
  readonly version: 1;
  readonly from: "hermes";
  readonly path: string;
  readonly dry_run: boolean;
  readonly zone: string;
  readonly schema_version: number | null;
  readonly started_at: number;
  readonly finished_at: number;
  readonly sessions: Record<"found" | "here" | ImportStatus | "absent", number>;
  readonly messages: Record<Role | "total", number>;
  readonly tool_calls: number;
  readonly titles: Record<"found" | "kept" | "other", number>;
  readonly lineage: number;
  readonly conversations: Record<"found" | "placed" | "left", number>;
  readonly blobs: number;
  readonly corrupt: number;
  readonly too_large: number;
  readonly missing_transcripts: number;
  readonly complete: boolean;
  readonly problems: readonly ImportProblemJson[];
  /** The path of the full report; null after a dry run. */
  readonly report: string | null;
}

export type ImportReport = Omit<ImportSummary, "report"> & { readonly items: readonly ReportItem[] };

/** The counters of a running import. */
export function createCounts() {
  return {
    sessions: { found: 0, here: 0, imported: 0, grown: 0, unchanged: 0, changed: 0, failed: 0, absent: 0 },
    messages: { total: 0, user: 0, assistant: 0, tool: 0, note: 0 },
    tool_calls: 0,
    titles: { found: 0, kept: 0, other: 0 },
    lineage: 0,
    conversations: { found: 0, placed: 0, left: 0 },
    blobs: 0,
  };
}

export type ImportCounts = ReturnType<typeof createCounts>;

export function countImportedMessages(counts: ImportCounts, messages: readonly NewMessage[]): void {
  for (const message of messages) {
    counts.messages.total += 1;
    counts.messages[message.role] += 1;
    counts.tool_calls += countToolCalls(message);
  }
}

export function countProblems(problems: readonly ImportProblem[], kind: ImportProblemKind): number {
  return problems.filter((problem) => problem.kind === kind).length;
}

/** Whether the import succeeded: nothing failed, and every file was readable. */
export function isComplete(problems: readonly ImportProblem[]): boolean {
  return !problems.some(({ kind }) => kind === "file" || kind === "failed");
}

/** Writes the report as a private file and never overwrites another one. */
export function writeReport(folder: string, report: ImportReport): string {
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const at = new Date(report.started_at)
    .toISOString()
    .replaceAll(/[-:]/g, "")
    .replace("T", "_")
    .replace("Z", "");
  const file = join(folder, `import-hermes-${at}-${process.pid}.json`);
  writeFileSync(file, `${JSON.stringify(report, null, 2)}\n`, { mode: 0o600, flag: "wx" });
  return file;
}
