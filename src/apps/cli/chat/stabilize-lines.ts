import { type Component, visibleWidth } from "@earendil-works/pi-tui";

/**
 * A component whose lines look the same whatever the terminal takes for the width of an emoji. Terminals and tmux disagree
 * about families, flags, skin colours and keycaps; a cursor that is elsewhere than we think spoils everything after it.
 */
export function stabilizeLines(component: Component): Component {
  return {
    render: (width) => component.render(width).map(stabilizeLine),
    invalidate: () => component.invalidate(),
  };
}

/**
 * The line with the cursor put where it belongs after each such emoji. Until then, the terminal does not wrap: a wider
 * emoji at the edge must not begin a new line. Each code ends in a move of the cursor, which the library knows has no width.
 */
export function stabilizeLine(line: string): string {
  if (!AMBIGUOUS_WIDTH.test(line)) return line;
  let steady = "";
  let column = 1;
  for (const piece of line.split(TERMINAL_CODES)) {
    if (piece.startsWith("\x1b")) {
      steady += piece;
      continue;
    }
    for (const { segment } of graphemes.segment(piece)) {
      const next = column + visibleWidth(segment);
      steady += AMBIGUOUS_WIDTH.test(segment)
        ? `\x1b[?7l\x1b[${column}G${segment}\x1b[?7h\x1b[${next}G`
        : segment;
      column = next;
    }
  }
  return steady;
}

const graphemes = new Intl.Segmenter();

/** Joiners, variation selectors, keycaps, halves of flags, skin colours, tags. */
const AMBIGUOUS_WIDTH =
  /[\u200d\ufe0e\ufe0f\u20e3\u{1f1e6}-\u{1f1ff}\u{1f3fb}-\u{1f3ff}\u{e0020}-\u{e007f}]/u;

/** The codes that the library writes: colours, links, and where the cursor is. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: terminal codes begin with one
const TERMINAL_CODES = /(\x1b\[[0-?]*[A-Za-z]|\x1b[\]_][^\x07\x1b]*(?:\x07|\x1b\\))/;
