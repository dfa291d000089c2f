import { FIRST_PLACE, type PartPlace } from "./output-parts.ts";

/** How far the recorded output of a process is in its row: the next keeper goes on exactly there. */
export interface Bookmark {
  readonly place: PartPlace;
  /** So many characters from there on have been stored already: they may be the beginning of a secret, and are read again. */
  readonly shown: number;
}

export const BEGINNING: Bookmark = { place: FIRST_PLACE, shown: 0 };

export function formatBookmark({ place, shown }: Bookmark): string {
  return [place.part, place.byte, shown].join(":");
}

export function parseBookmark(text: string | undefined): Bookmark {
  const [part = 0, byte = 0, shown = 0] = (text ?? "").split(":").map(Number);
  return { place: { part, byte }, shown };
}
