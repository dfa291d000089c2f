import { fstatSync } from "node:fs";
import { PostriderError } from "../../../core/errors.ts";
import { fenceCode } from "../../../core/fence.ts";
import { type Io, printNotice } from "../io.ts";

/** More than the context window of a model. */
const MAX_BYTES = 1024 * 1024;
/** The time-out for a stdin that is open but silent, as some parent processes leave it. */
const FIRST_BYTE_MS = 3000;

/** Appends stdin to the question, in a fence, so that it does not read as a part of the question. */
export async function appendStdin(io: Io, question: string): Promise<string> {
  const given = (await readStdin(io)).trimEnd();
  return given.trim() === "" ? question : `${question}\n\nInput from stdin:\n\n${fenceCode(given)}`;
}

/** Reads stdin to its end. A terminal or a device such as /dev/null counts as empty. */
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
          `The input on stdin is longer than ${MAX_BYTES} bytes. Pass a part of it, for example with head or grep.`,
        );
      chunks.push(bytes);
    }
  } catch (error) {
    if (!isSilent) throw error;
  } finally {
    clearTimeout(silence);
  }
  if (isSilent) printNotice(io, "postrider: no input on stdin for 3 s; the question is sent without it.");
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
      "The input on stdin is not text. Name the file in the question instead.",
    );
  return bytes.toString("utf8");
}
