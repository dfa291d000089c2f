import { createHash } from "node:crypto";
import { lstatSync, mkdirSync } from "node:fs";
import { tmpdir, userInfo } from "node:os";
import { join, resolve } from "node:path";
import { PostriderError } from "../core/errors.ts";

/** Systems allow 104 or 108 bytes for the path of a socket, and report nothing helpful about a longer one. */
const MAX_BYTES = 100;

/** The path of the socket that the keeper of a home listens on. Only its user can open it. */
export function resolveSocketPath(home: string, temporary: string = tmpdir()): string {
  const inHome = join(resolve(home), "keeper.sock");
  if (Buffer.byteLength(inHome) <= MAX_BYTES) return inHome;
  const folder = join(temporary, `postrider-${userInfo().uid}`);
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  // Any user can create a folder with this name.
  const { uid, mode } = lstatSync(folder);
  if (uid !== userInfo().uid || (mode & 0o170777) !== 0o040700)
    throw new PostriderError(
      "not_allowed",
      `${folder} must be a folder that you own and that no other user can open, because ${inHome} is too long for a socket. Remove it, or choose a home with a shorter path.`,
    );
  return join(folder, `${createHash("sha256").update(resolve(home)).digest("hex").slice(0, 16)}.sock`);
}
