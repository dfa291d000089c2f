import { MAX_PART_BYTES, type Part } from "../core/message.ts";
import type { ToolOutput } from "../ports/tool.ts";
import { createBlob } from "../sessions/message-input.ts";

/** A model can hardly use a longer output, and it would soon fill the context window. */
const MAX_OUTPUT = 50_000;
/** The length of each end that a longer output keeps. */
const MAX_SHOWN = 20_000;

/**
 * Shortens a tool's output for the model: the head and the tail of a long text stay. The whole text is stored beside it,
 * under a name by which the model can read it.
 */
export function shortenOutput(output: ToolOutput): ToolOutput {
  const texts = output.parts.flatMap((part) =>
    "text" in part && part.text !== undefined ? [part.text] : [],
  );
  if (texts.reduce((sum, { length }) => sum + length, 0) <= MAX_OUTPUT) return output;
  const share = Math.floor(MAX_OUTPUT / texts.length);
  const shortened = output.parts.map((part) => keepEnds(part, share));
  return {
    ...output,
    parts: shortened.flatMap(({ parts }) => parts),
    blobs: [...(output.blobs ?? []), ...shortened.flatMap(({ blobs = [] }) => blobs)],
  };
}

function keepEnds(part: Part, share: number): ToolOutput {
  if (!("text" in part) || part.text === undefined || part.text.length <= share) return { parts: [part] };
  const whole = part.text;
  const half = Math.min(MAX_SHOWN, Math.floor(share / 2));
  // No half of a surrogate pair at the edges.
  const head = whole.slice(0, half).replace(/[\uD800-\uDBFF]$/, "");
  const tail = whole.slice(whole.length - half).replace(/^[\uDC00-\uDFFF]/, "");
  const missing = (whole.length - head.length - tail.length).toLocaleString("en-US");
  const bytes = new TextEncoder().encode(whole);
  if (bytes.byteLength > MAX_PART_BYTES) {
    const note = `[${missing} characters are left out here, and were too many to be kept.]`;
    return { parts: [{ ...part, text: `${head}\n\n${note}\n\n${tail}` }] };
  }
  const blob = createBlob(bytes, "output");
  const { hash } = blob;
  const note = `[${missing} characters are left out here. The whole is kept as output:${hash}]`;
  return {
    parts: [
      { ...part, text: `${head}\n\n${note}\n\n${tail}` },
      { type: "file", blob: hash, mimeType: "text/plain", size: bytes.byteLength, name: "output.txt" },
    ],
    blobs: [blob],
  };
}
