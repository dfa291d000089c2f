import type { Readable } from "node:stream";

/** The lines of a stream, each ended by a line feed and nothing else: U+2028 may stand inside a JSON text. */
export async function* readLines(input: Readable): AsyncGenerator<string> {
  const decoder = new TextDecoder();
  let begun: string[] = [];
  for await (const chunk of input) {
    const text = typeof chunk === "string" ? chunk : decoder.decode(chunk as Buffer, { stream: true });
    const [first = "", ...more] = text.split("\n");
    begun.push(first);
    for (const next of more) {
      yield begun.join("");
      begun = [next];
    }
  }
  begun.push(decoder.decode());
  const last = begun.join("");
  if (last !== "") yield last;
}
