import { OUTPUT_START, type OutputPosition } from "./output-reader.ts";

/** How much of the recorded output is in the row: the next keeper continues exactly here. */
export interface Bookmark {
  readonly position: OutputPosition;
  /** This many characters after the position are stored already: they may begin a secret, so they are read again. */
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
