import { OUTPUT_START, type OutputPosition } from "./output-reader.ts";

/** How far the recorded output of a process is in its row: the next keeper goes on exactly there. */
export interface Bookmark {
  readonly position: OutputPosition;
  /** So many characters from there on have been stored already: they may be the beginning of a secret, and are read again. */
  readonly shown: number;
}

export const FIRST_BOOKMARK: Bookmark = { position: OUTPUT_START, shown: 0 };

export function formatBookmark({ position, shown }: Bookmark): string {
  return [position.part, position.byte, shown].join(":");
}

export function parseBookmark(text: string | undefined): Bookmark {
  const [part = 0, byte = 0, shown = 0] = (text ?? "").split(":").map(Number);
  return { position: { part, byte }, shown };
}
