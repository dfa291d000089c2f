import { createHash } from "node:crypto";
import { lstatSync, mkdirSync } from "node:fs";
import { tmpdir, userInfo } from "node:os";
import { join, resolve } from "node:path";
import { PostriderError } from "../core/errors.ts";

/** Systems take 104 or 108 bytes for the path of a socket, and say nothing helpful about a longer one. */
const LONGEST = 100;

/** Where the keeper of a home listens. Only its user may reach it there. */
export function resolveSocketPath(home: string, temporary: string = tmpdir()): string {
  const inHome = join(resolve(home), "keeper.sock");
  if (Buffer.byteLength(inHome) <= LONGEST) return inHome;
  const folder = join(temporary, `postrider-${userInfo().uid}`);
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  // Anybody may have made a folder of that name there before us.
  const { uid, mode } = lstatSync(folder);
  if (uid !== userInfo().uid || (mode & 0o170777) !== 0o040700)
    throw new PostriderError(
      "not_allowed",
      `${folder} must be a folder that is yours and open to nobody else, because ${inHome} is too long for a socket. Remove it, or choose a home with a shorter path.`,
    );
  return join(folder, `${createHash("sha256").update(resolve(home)).digest("hex").slice(0, 16)}.sock`);
}
