import { MAX_PART_BYTES, type Part } from "../core/message.ts";
import type { ToolOutput } from "../ports/tool.ts";
import { createBlob } from "../sessions/message-input.ts";

/** More of a tool's output is of little use to a model, and would soon fill all that it can read. */
const LONGEST_OUTPUT = 50_000;
/** As much is shown of each end of what is longer. */
const SHOWN = 20_000;

/**
 * A tool's output of a length that can be told to a model: of a text that is too long, its head and its tail. The whole is
 * kept beside it, under a name by which it can be read.
 */
export function shortenOutput(output: ToolOutput): ToolOutput {
  const texts = output.parts.flatMap((part) =>
    "text" in part && part.text !== undefined ? [part.text] : [],
  );
  if (texts.reduce((sum, { length }) => sum + length, 0) <= LONGEST_OUTPUT) return output;
  const share = Math.floor(LONGEST_OUTPUT / texts.length);
  const kept = output.parts.map((part) => keepEnds(part, share));
  return {
    ...output,
    parts: kept.flatMap(({ parts }) => parts),
    blobs: [...(output.blobs ?? []), ...kept.flatMap(({ blobs = [] }) => blobs)],
  };
}

function keepEnds(part: Part, share: number): ToolOutput {
  if (!("text" in part) || part.text === undefined || part.text.length <= share) return { parts: [part] };
  const whole = part.text;
  const half = Math.min(SHOWN, Math.floor(share / 2));
  // No half of a pair at the edges.
  const head = whole.slice(0, half).replace(/[\uD800-\uDBFF]$/, "");
  const tail = whole.slice(whole.length - half).replace(/^[\uDC00-\uDFFF]/, "");
  const missing = (whole.length - head.length - tail.length).toLocaleString("en-US");
  const bytes = new TextEncoder().encode(whole);
  if (bytes.byteLength > MAX_PART_BYTES) {
    const words = `[${missing} characters are left out here, and were too many to be kept.]`;
    return { parts: [{ ...part, text: `${head}\n\n${words}\n\n${tail}` }] };
  }
  const blob = createBlob(bytes, "output");
  const { hash } = blob;
  const words = `[${missing} characters are left out here. The whole is kept as output:${hash}]`;
  return {
    parts: [
      { ...part, text: `${head}\n\n${words}\n\n${tail}` },
      { type: "file", blob: hash, mimeType: "text/plain", size: bytes.byteLength, name: "output.txt" },
    ],
    blobs: [blob],
  };
}
