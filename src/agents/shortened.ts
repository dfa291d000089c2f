import type { Part } from "../core/message.ts";

/** More of a tool's output is of no use to a model, and would fill all that it can read. */
const LONGEST_OUTPUT = 200_000;

/** A tool's output of a length that can be told to a model: texts that are too long lose their middle. */
export function shortened(parts: readonly Part[]): readonly Part[] {
  const texts = parts.flatMap((part) => ("text" in part && part.text !== undefined ? [part.text] : []));
  if (texts.reduce((sum, { length }) => sum + length, 0) <= LONGEST_OUTPUT) return parts;
  const share = Math.floor(LONGEST_OUTPUT / texts.length);
  return parts.map((part) =>
    "text" in part && part.text !== undefined ? { ...part, text: withoutMiddle(part.text, share) } : part,
  );
}

function withoutMiddle(text: string, longest: number): string {
  if (text.length <= longest) return text;
  const half = Math.floor(longest / 2);
  // No half of a pair at the edges.
  const head = text.slice(0, half).replace(/[\uD800-\uDBFF]$/, "");
  const tail = text.slice(text.length - half).replace(/^[\uDC00-\uDFFF]/, "");
  const missing = text.length - head.length - tail.length;
  return `${head}\n\n[${missing.toLocaleString("en-US")} characters are left out here.]\n\n${tail}`;
}
