import type { Stats } from "node:fs";
import type { FileHandle } from "node:fs/promises";
import { basename, dirname } from "node:path";
import { PostriderError } from "../core/errors.ts";
import { maskedBy } from "../processes/masking.ts";
import { allowedPath, shownPath } from "./allowed-path.ts";
import { entriesOf, withFound } from "./found-file.ts";
import type { Hands } from "./hands.ts";
import { mostAlike } from "./most-alike.ts";
import { inPages, type Paging } from "./pages.ts";
import { type Decoded, decoded } from "./text-of-bytes.ts";

/** More of a file is not read at once. */
const LONGEST_READ = 10 * 1024 * 1024;
const MOST_ENTRIES = 500;
/** How many names are looked at for one that may have been meant. */
const MOST_NAMES = 5000;

/** How a stored output of an earlier call is named. */
const OUTPUT = /^output:([0-9a-f]{64})$/;

/** What a file, a folder or an earlier output says, as much of it as is asked for. */
export function readPart(path: string, paging: Paging, hands: Hands): Promise<string> {
  const [, hash] = OUTPUT.exec(path) ?? [];
  return hash === undefined ? file(path, paging, hands) : output(hash, paging, hands);
}

async function output(hash: string, paging: Paging, { store, asker, secrets }: Hands): Promise<string> {
  const bytes = await store.blob({ asker, hash });
  if (bytes === undefined)
    throw new PostriderError("not_found", "There is no such output, or it is kept no longer.");
  return shown("The output", { size: bytes.length }, decoded(bytes), { ...paging, secrets });
}

async function file(path: string, paging: Paging, hands: Hands): Promise<string> {
  const { real } = await allowedPath(path, hands);
  const name = shownPath(real, hands);
  return withFound(real, name, async (found) => {
    if (found.kind === "folder") return folder(real, name);
    if (found.kind === "missing") throw await missing(real, name, hands);
    const { handle, stats } = found;
    const { bytes, part } = await readUpTo(handle, stats, paging.offset < 0);
    const content = decoded(bytes, { isPart: part !== undefined });
    return shown(name, { size: stats.size, part }, content, { ...paging, secrets: hands.secrets });
  });
}

/** The beginning of a file, or its end, if it is too long to be read whole. */
async function readUpTo(
  handle: FileHandle,
  { size }: Stats,
  isEnd: boolean,
): Promise<{ bytes: Uint8Array; part?: "first" | "last" }> {
  const isWhole = size <= LONGEST_READ;
  // One byte more than the size: a file that grew since is then known to have.
  const buffer = Buffer.alloc(isWhole ? size + 1 : LONGEST_READ);
  const from = !isWhole && isEnd ? size - LONGEST_READ : 0;
  let length = 0;
  while (length < buffer.length) {
    const { bytesRead } = await handle.read(buffer, length, buffer.length - length, from + length);
    if (bytesRead === 0) break;
    length += bytesRead;
  }
  const bytes = buffer.subarray(0, length);
  if (isWhole) return { bytes: bytes.subarray(0, size) };
  return { bytes, part: isEnd ? "last" : "first" };
}

function shown(
  name: string,
  { size, part }: { readonly size: number; readonly part?: "first" | "last" | undefined },
  content: Decoded,
  { secrets, ...paging }: Paging & Pick<Hands, "secrets">,
): string {
  if ("binary" in content) return `${name} is ${content.binary}, ${bytesWords(size)}. It cannot be shown.`;
  if (content.text === "") return `${name} is empty.`;
  const { head, lines } = inPages(maskedBy(secrets)(content.text), paging); // before it is cut: half a secret is one still
  const besides = [
    ...(part === undefined
      ? []
      : [`only the ${part} ${bytesWords(LONGEST_READ)} of ${bytesWords(size)} were read`]),
    ...(content.encoding === "UTF-8" ? [] : [`it is not UTF-8, and was read as ${content.encoding}`]),
    ...(content.text.includes("\r\n") ? ["its lines end in CRLF"] : []),
  ];
  return [`${name}: ${[head, ...besides].join("; ")}`, ...lines].join("\n");
}

async function folder(real: string, name: string): Promise<string> {
  const { names, isCut } = await entriesOf(real, MOST_ENTRIES);
  if (names.length === 0) return `${name} is an empty folder.`;
  const head = isCut
    ? `${name} is a folder with more than ${MOST_ENTRIES} entries; some of them:`
    : `${name} is a folder:`;
  return [head, ...names].join("\n");
}

/** Says what may have been meant: names in the same folder that are much the same. */
async function missing(real: string, name: string, hands: Hands): Promise<PostriderError> {
  const above = dirname(real);
  const entries = await entriesOf(above, MOST_NAMES).catch(() => undefined);
  if (entries === undefined)
    return new PostriderError(
      "not_found",
      `${name} is not there, nor is the folder ${shownPath(above, hands)}.`,
    );
  const near = mostAlike(entries.names, basename(real), 5);
  const hint = near.length === 0 ? "" : ` Near it: ${near.join(", ")}.`;
  return new PostriderError("not_found", `${name} is not there.${hint}`);
}

function bytesWords(size: number): string {
  if (size < 1024) return `${size} bytes`;
  const [amount, unit] = size < 1024 * 1024 ? [size / 1024, "KB"] : [size / 1024 / 1024, "MB"];
  return `${amount.toLocaleString("en-US", { maximumFractionDigits: 1 })} ${unit}`;
}
