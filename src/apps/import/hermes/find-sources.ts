import { readdirSync, type Stats, statSync } from "node:fs";
import { basename, join, resolve } from "node:path";
import { PostriderError } from "../../../core/errors.ts";

/** The sources of an import. Each may be missing, but not all. */
export interface HermesSources {
  readonly path: string;
  readonly database?: string;
  readonly index?: string;
  /** Transcript files by session id. An id is never used as a path; the files come from a directory listing. */
  readonly transcripts: ReadonlyMap<string, string>;
}

const SUFFIX = ".jsonl";

/** Finds the sources in a home, in a sessions folder, or in a single database file. */
export function findSources(given: string): HermesSources {
  const path = resolve(given);
  try {
    return findInPath(path);
  } catch (cause) {
    if (cause instanceof PostriderError) throw cause;
    const sentence = `Cannot read ${path} (${(cause as Error).message}). Check its permissions.`;
    throw new PostriderError("not_allowed", sentence, { cause, details: { path } });
  }
}

function findInPath(path: string): HermesSources {
  const found = statIfPresent(path);
  if (found === undefined) {
    throw new PostriderError(
      "not_found",
      `${path} does not exist. Name the folder that contains state.db and sessions.`,
      {
        details: { path },
      },
    );
  }
  if (!found.isDirectory()) return { path, database: path, transcripts: new Map() };
  const folder = join(path, "sessions");
  const database = join(path, "state.db");
  const sources = {
    path,
    ...(isFile(database) && { database }),
    ...(statIfPresent(folder)?.isDirectory() ? listSessionFiles(folder) : listSessionFiles(path)),
  };
  if (sources.database === undefined && sources.index === undefined && sources.transcripts.size === 0) {
    throw new PostriderError(
      "not_found",
      `${path} has nothing to import: no state.db, no sessions/sessions.json and no transcripts (.jsonl).`,
      { details: { path } },
    );
  }
  return sources;
}

function listSessionFiles(folder: string): Pick<HermesSources, "index" | "transcripts"> {
  const transcripts = new Map<string, string>();
  // Sorted, so that every run has the same order on any file system.
  for (const name of readdirSync(folder).sort()) {
    const file = join(folder, name);
    if (name.endsWith(SUFFIX) && name !== SUFFIX && isFile(file)) {
      transcripts.set(basename(name, SUFFIX), file);
    }
  }
  const index = join(folder, "sessions.json");
  return { transcripts, ...(isFile(index) && { index }) };
}

function isFile(path: string): boolean {
  return statIfPresent(path)?.isFile() === true;
}

function statIfPresent(path: string): Stats | undefined {
  return statSync(path, { throwIfNoEntry: false });
}
