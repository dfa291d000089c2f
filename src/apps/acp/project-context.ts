import { constants } from "node:fs";
import { lstat, open, realpath } from "node:fs/promises";
import { homedir } from "node:os";
import { dirname, join, relative, resolve, sep } from "node:path";

const MOST_BYTES = 32 * 1024;

/** What the model is told about the folder of an editor's session: where it is, and what the project says of itself. */
export async function projectContext(cwd: string): Promise<string> {
  const section = `Working folder: ${plain(cwd)}`;
  const folders = await foldersOfProject(cwd);
  const root = folders.at(-1) ?? cwd;
  for (const folder of folders) {
    const path = join(folder, "AGENTS.md");
    const read = await instructionsAt(path, root);
    if (read === "absent") continue;
    if ("why" in read) return `${section}\n\n${plain(path)} was not read: ${read.why}.`;
    if (read.text.trim() === "") return section;
    return `${section}\n\nInstructions of this project, from ${plain(path)}:\n\n${read.text.trim()}${read.note ?? ""}`;
  }
  return section;
}

/** From the folder itself up to the root of its repository. Without a repository, nothing above it is the project's. */
async function foldersOfProject(cwd: string): Promise<readonly string[]> {
  const own = await ownerOf(cwd);
  const folders: string[] = [];
  for (let folder = resolve(cwd); ; folder = dirname(folder)) {
    folders.push(folder);
    const owner = await ownerOf(join(folder, ".git"));
    // One that somebody else has put above a folder, for instance into /tmp, must not speak to its agent.
    if (owner !== undefined && (owner === own || owner === process.getuid?.())) return folders;
    if (folder === homedir() || folder === dirname(folder)) return [cwd];
  }
}

async function ownerOf(path: string): Promise<number | undefined> {
  return lstat(path).then(
    ({ uid }) => uid,
    () => undefined,
  );
}

type Instructions =
  | "absent"
  | { readonly text: string; readonly note?: string }
  /** It is there, but must not or cannot be read. */
  | { readonly why: string };

async function instructionsAt(path: string, root: string): Promise<Instructions> {
  try {
    await lstat(path);
  } catch (error) {
    if (codeOf(error) === "ENOENT" || codeOf(error) === "ENOTDIR") return "absent";
    return { why: `it cannot be looked at (${codeOf(error)})` };
  }
  try {
    const place = await realpath(path);
    // A link may lead to another file of the project, and nowhere else.
    if (!isWithin(place, await realpath(root))) return { why: "it leads out of the project" };
    return await readBeginning(place);
  } catch (error) {
    return { why: `it cannot be opened (${codeOf(error)})` };
  }
}

function codeOf(error: unknown): string {
  return (error as NodeJS.ErrnoException).code ?? "unknown error";
}

function isWithin(path: string, folder: string): boolean {
  const way = relative(folder, path);
  return way !== ".." && !way.startsWith(`..${sep}`);
}

async function readBeginning(path: string): Promise<Instructions> {
  // Opening a pipe would otherwise wait for somebody to write; a link may have taken the file's place meanwhile.
  const file = await open(path, constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOFOLLOW);
  try {
    const stats = await file.stat();
    if (!stats.isFile()) return { why: "it is not a regular file" };
    const buffer = new Uint8Array(MOST_BYTES);
    let length = 0;
    while (length < MOST_BYTES) {
      const { bytesRead } = await file.read(buffer, length, MOST_BYTES - length, length);
      if (bytesRead === 0) break;
      length += bytesRead;
    }
    const bytes = buffer.subarray(0, length);
    if (bytes.includes(0)) return { why: "it is not text" };
    // As a stream, so that a character which is cut in two at the end is left out.
    const text = new TextDecoder().decode(bytes, { stream: true });
    if (stats.size <= length) return { text };
    return { text, note: `\n\n[Cut here: the file has ${stats.size} bytes. Read the rest of it if needed.]` };
  } finally {
    await file.close();
  }
}

/** A path is shown as it is, but for characters that would end its line or hide in it. */
function plain(path: string): string {
  return path.replaceAll(/[\p{Cc}\p{Cf}\u2028\u2029]/gu, (character) => {
    return `\\u{${(character.codePointAt(0) ?? 0).toString(16)}}`;
  });
}
