import { fstatSync } from "node:fs";
import { PostriderError } from "../../../core/errors.ts";
import { fenceCode } from "../../../core/fence.ts";
import { type Io, printNotice } from "../io.ts";

/** More than a model can read. */
const MAX_BYTES = 1024 * 1024;
/** A pipe that somebody holds open and nobody writes to, as some programs leave it to those they start. */
const FIRST_BYTE_MS = 3000;

/** The question with what comes on stdin behind it, fenced so that none of it looks like a part of the question. */
export async function appendStdin(io: Io, question: string): Promise<string> {
  const given = (await readStdin(io)).trimEnd();
  return given.trim() === "" ? question : `${question}\n\nInput from stdin:\n\n${fenceCode(given)}`;
}

/** Everything up to its end; nothing from a terminal or a device such as /dev/null. */
async function readStdin(io: Io): Promise<string> {
  if (!isPipeOrFile(io)) return "";
  const { input } = io;
  const chunks: Buffer[] = [];
  let size = 0;
  let isSilent = false;
  const silence = setTimeout(() => {
    isSilent = true;
    input.destroy();
  }, FIRST_BYTE_MS);
  try {
    for await (const chunk of input) {
      clearTimeout(silence);
      const bytes = Buffer.from(chunk as Buffer | string);
      size += bytes.length;
      if (size > MAX_BYTES)
        throw new PostriderError(
          "too_large",
          `What comes on stdin is longer than ${MAX_BYTES} bytes. Give a part of it, for example with head or grep.`,
        );
      chunks.push(bytes);
    }
  } catch (error) {
    if (!isSilent) throw error;
  } finally {
    clearTimeout(silence);
  }
  if (isSilent)
    printNotice(io, "postrider: nothing came on stdin in 3 s, so the question is asked without it.");
  return decodeStdin(Buffer.concat(chunks));
}

function isPipeOrFile({ input }: Io): boolean {
  if (input.isTTY) return false;
  const { fd } = input as { readonly fd?: number };
  if (fd === undefined) return true;
  try {
    return !fstatSync(fd).isCharacterDevice();
  } catch {
    return false; // closed by the parent process
  }
}

function decodeStdin(bytes: Buffer): string {
  if (bytes.includes(0))
    throw new PostriderError(
      "invalid_input",
      "What comes on stdin is not text. Name the file in the question instead.",
    );
  return bytes.toString("utf8");
}
