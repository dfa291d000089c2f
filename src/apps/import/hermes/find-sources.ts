import { readdirSync, type Stats, statSync } from "node:fs";
import { basename, join, resolve } from "node:path";
import { PostriderError } from "../../../core/errors.ts";

/** What a home has to take over. Each may be missing, but not all. */
export interface HermesSources {
  readonly path: string;
  readonly database?: string;
  readonly index?: string;
  /** Transcript files by session id. Ids never become paths: a file is found by being listed. */
  readonly transcripts: ReadonlyMap<string, string>;
}

const SUFFIX = ".jsonl";

/** Looks into a home, a folder of sessions, or takes a database alone. */
export function findSources(given: string): HermesSources {
  const path = resolve(given);
  try {
    return findInPath(path);
  } catch (cause) {
    if (cause instanceof PostriderError) throw cause;
    const sentence = `${path} cannot be read (${(cause as Error).message}). Check that you may look into it.`;
    throw new PostriderError("not_allowed", sentence, { cause, details: { path } });
  }
}

function findInPath(path: string): HermesSources {
  const found = statIfPresent(path);
  if (found === undefined) {
    throw new PostriderError(
      "not_found",
      `There is no ${path}. Name the folder that holds state.db and sessions.`,
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
      `${path} holds nothing to import: neither state.db nor sessions/sessions.json nor transcripts (.jsonl).`,
      { details: { path } },
    );
  }
  return sources;
}

function listSessionFiles(folder: string): Pick<HermesSources, "index" | "transcripts"> {
  const transcripts = new Map<string, string>();
  // Sorted, so that two runs see the same order whatever the file system says.
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
