import type { Readable } from "node:stream";

/** Splits a stream at line feeds only, because JSON strings may contain U+2028. */
export async function* readLines(input: Readable): AsyncGenerator<string> {
  const decoder = new TextDecoder();
  let partial: string[] = [];
  for await (const chunk of input) {
    const text = typeof chunk === "string" ? chunk : decoder.decode(chunk as Buffer, { stream: true });
    const [first = "", ...more] = text.split("\n");
    partial.push(first);
    for (const next of more) {
      yield partial.join("");
      partial = [next];
    }
  }
  partial.push(decoder.decode());
  const last = partial.join("");
  if (last !== "") yield last;
}
