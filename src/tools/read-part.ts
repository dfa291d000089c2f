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

/** The maximum number of bytes to read. */
const MAX_READ_LENGTH = 10 * 1024 * 1024;
const MAX_ENTRIES = 500;
/** The number of names that are compared for a suggestion. */
const MAX_NAMES = 5000;

/** The prefix of stored outputs. */
const OUTPUT_NAME = /^output:([0-9a-f]{64})$/;

/** Reads a page of a file, a folder or an earlier output. */
export function readPart(path: string, paging: Paging, context: ToolContext): Promise<string> {
  const [, hash] = OUTPUT_NAME.exec(path) ?? [];
  return hash === undefined ? readFilePart(path, paging, context) : readOutputPart(hash, paging, context);
}

async function readOutputPart(
  hash: string,
  paging: Paging,
  { store, asker, secrets }: ToolContext,
): Promise<string> {
  const bytes = await store.messages.readBlob({ asker, hash });
  if (bytes === undefined)
    throw new PostriderError("not_found", "This output does not exist or is no longer stored.");
  return formatPart("The output", { size: bytes.length }, decodeText(bytes), { ...paging, secrets });
}

async function readFilePart(path: string, paging: Paging, context: ToolContext): Promise<string> {
  const { realPath } = await resolveAllowedPath(path, context);
  const name = toDisplayPath(realPath, context);
  return withOpenedPath(realPath, name, async (found) => {
    if (found.kind === "folder") return formatFolder(realPath, name);
    if (found.kind === "missing") throw await createMissingError(realPath, name, context);
    const { handle, stats } = found;
    const { bytes, part } = await readUpTo(handle, stats, paging.offset < 0);
    const content = decodeText(bytes, { isPart: part !== undefined });
    return formatPart(name, { size: stats.size, part }, content, { ...paging, secrets: context.secrets });
  });
}

/** Reads a whole file, or the start or end of a long one. */
async function readUpTo(
  handle: FileHandle,
  { size }: Stats,
  isEnd: boolean,
): Promise<{ bytes: Uint8Array; part?: "first" | "last" }> {
  const isWhole = size <= MAX_READ_LENGTH;
  // One byte more than the size, to notice that the file has grown.
  const buffer = Buffer.alloc(isWhole ? size + 1 : MAX_READ_LENGTH);
  const from = !isWhole && isEnd ? size - MAX_READ_LENGTH : 0;
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
  const { head, lines } = paginateText(createSecretMask(secrets)(content.text), paging); // masks before the cut, because a cut secret would not match
  const remarks = [
    ...(part === undefined
      ? []
      : [`only the ${part} ${formatBytes(MAX_READ_LENGTH)} of ${formatBytes(size)} were read`]),
    ...(content.encoding === "UTF-8" ? [] : [`it is not UTF-8 and was read as ${content.encoding}`]),
    ...(content.text.includes("\r\n") ? ["its lines end in CRLF"] : []),
  ];
  return [`${name}: ${[head, ...remarks].join("; ")}`, ...lines].join("\n");
}

async function formatFolder(real: string, name: string): Promise<string> {
  const { names, isTruncated } = await listFolderEntries(real, MAX_ENTRIES);
  if (names.length === 0) return `${name} is an empty folder.`;
  const head = isTruncated
    ? `${name} is a folder with more than ${MAX_ENTRIES} entries; some of them:`
    : `${name} is a folder:`;
  return [head, ...names].join("\n");
}

/** Suggests similar names in the same folder. */
async function createMissingError(real: string, name: string, context: ToolContext): Promise<PostriderError> {
  const above = dirname(real);
  const entries = await listFolderEntries(above, MAX_NAMES).catch(() => undefined);
  if (entries === undefined)
    return new PostriderError(
      "not_found",
      `${name} does not exist, and neither does the folder ${toDisplayPath(above, context)}.`,
    );
  const near = findMostSimilar(entries.names, basename(real), 5);
  const hint = near.length === 0 ? "" : ` Similar names: ${near.join(", ")}.`;
  return new PostriderError("not_found", `${name} does not exist.${hint}`);
}

function formatBytes(size: number): string {
  if (size < 1024) return `${size} bytes`;
  const [amount, unit] = size < 1024 * 1024 ? [size / 1024, "KB"] : [size / 1024 / 1024, "MB"];
  return `${amount.toLocaleString("en-US", { maximumFractionDigits: 1 })} ${unit}`;
}
