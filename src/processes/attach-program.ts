import { statSync } from "node:fs";
import type { AttachSpec, ProgramEvents, Running } from "./backend.ts";
import { holdProgram } from "./held-program.ts";
import { readKeptSecrets } from "./kept-secrets.ts";
import { programFolder } from "./program-folder.ts";

/** Goes on with a program that a keeper before this one has started, from its folder. */
export function attachProgram(root: string, spec: AttachSpec, seen: ProgramEvents): Running | undefined {
  const folder = programFolder(root, spec.id);
  if (statSync(folder.path, { throwIfNoEntry: false }) === undefined) return undefined;
  const { id, pid, born, pty, from } = spec;
  return holdProgram({
    program: { id, pid, born },
    folder,
    pty,
    from,
    secrets: readKeptSecrets(folder),
    seen,
  });
}
