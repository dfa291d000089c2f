import type { Stats } from "node:fs";
import type { FileHandle } from "node:fs/promises";
import { basename, dirname } from "node:path";
import { PostriderError } from "../core/errors.ts";
import { createSecretMask } from "../processes/masking.ts";
import { resolveAllowedPath, toDisplayPath } from "./allowed-path.ts";
import { type DecodedText, decodeText } from "./decode-text.ts";
import { findMostSimilar } from "./find-similar.ts";
import { listFolderEntries, withOpenedPath } from "./opened-path.ts";
import { type Paging, paginateText } from "./paginate-text.ts";
import type { ToolContext } from "./tool-context.ts";

/** More of a file is not read at once. */
const LONGEST_READ = 10 * 1024 * 1024;
const MOST_ENTRIES = 500;
/** How many names are looked at for one that may have been meant. */
const MOST_NAMES = 5000;

/** How a stored output of an earlier call is named. */
const OUTPUT_NAME = /^output:([0-9a-f]{64})$/;

/** What a file, a folder or an earlier output says, as much of it as is asked for. */
export function readPart(path: string, paging: Paging, hands: ToolContext): Promise<string> {
  const [, hash] = OUTPUT_NAME.exec(path) ?? [];
  return hash === undefined ? readFilePart(path, paging, hands) : readOutputPart(hash, paging, hands);
}

async function readOutputPart(
  hash: string,
  paging: Paging,
  { store, asker, secrets }: ToolContext,
): Promise<string> {
  const bytes = await store.messages.readBlob({ asker, hash });
  if (bytes === undefined)
    throw new PostriderError("not_found", "There is no such output, or it is kept no longer.");
  return formatPart("The output", { size: bytes.length }, decodeText(bytes), { ...paging, secrets });
}

async function readFilePart(path: string, paging: Paging, hands: ToolContext): Promise<string> {
  const { realPath } = await resolveAllowedPath(path, hands);
  const name = toDisplayPath(realPath, hands);
  return withOpenedPath(realPath, name, async (found) => {
    if (found.kind === "folder") return formatFolder(realPath, name);
    if (found.kind === "missing") throw await createMissingError(realPath, name, hands);
    const { handle, stats } = found;
    const { bytes, part } = await readUpTo(handle, stats, paging.offset < 0);
    const content = decodeText(bytes, { isPart: part !== undefined });
    return formatPart(name, { size: stats.size, part }, content, { ...paging, secrets: hands.secrets });
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

function formatPart(
  name: string,
  { size, part }: { readonly size: number; readonly part?: "first" | "last" | undefined },
  content: DecodedText,
  { secrets, ...paging }: Paging & Pick<ToolContext, "secrets">,
): string {
  if ("binary" in content) return `${name} is ${content.binary}, ${formatBytes(size)}. It cannot be shown.`;
  if (content.text === "") return `${name} is empty.`;
  const { head, lines } = paginateText(createSecretMask(secrets)(content.text), paging); // before it is cut: half a secret is one still
  const besides = [
    ...(part === undefined
      ? []
      : [`only the ${part} ${formatBytes(LONGEST_READ)} of ${formatBytes(size)} were read`]),
    ...(content.encoding === "UTF-8" ? [] : [`it is not UTF-8, and was read as ${content.encoding}`]),
    ...(content.text.includes("\r\n") ? ["its lines end in CRLF"] : []),
  ];
  return [`${name}: ${[head, ...besides].join("; ")}`, ...lines].join("\n");
}

async function formatFolder(real: string, name: string): Promise<string> {
  const { names, isTruncated } = await listFolderEntries(real, MOST_ENTRIES);
  if (names.length === 0) return `${name} is an empty folder.`;
  const head = isTruncated
    ? `${name} is a folder with more than ${MOST_ENTRIES} entries; some of them:`
    : `${name} is a folder:`;
  return [head, ...names].join("\n");
}

/** Says what may have been meant: names in the same folder that are much the same. */
async function createMissingError(real: string, name: string, hands: ToolContext): Promise<PostriderError> {
  const above = dirname(real);
  const entries = await listFolderEntries(above, MOST_NAMES).catch(() => undefined);
  if (entries === undefined)
    return new PostriderError(
      "not_found",
      `${name} is not there, nor is the folder ${toDisplayPath(above, hands)}.`,
    );
  const near = findMostSimilar(entries.names, basename(real), 5);
  const hint = near.length === 0 ? "" : ` Near it: ${near.join(", ")}.`;
  return new PostriderError("not_found", `${name} is not there.${hint}`);
}

function formatBytes(size: number): string {
  if (size < 1024) return `${size} bytes`;
  const [amount, unit] = size < 1024 * 1024 ? [size / 1024, "KB"] : [size / 1024 / 1024, "MB"];
  return `${amount.toLocaleString("en-US", { maximumFractionDigits: 1 })} ${unit}`;
}
