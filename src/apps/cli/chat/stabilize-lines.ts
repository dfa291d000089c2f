import { type Component, visibleWidth } from "@earendil-works/pi-tui";

/** Makes lines independent of the terminal's emoji widths: terminals disagree on families, flags, skin tones and keycaps. */
export function stabilizeLines(component: Component): Component {
  return {
    render: (width) => component.render(width).map(stabilizeLine),
    invalidate: () => component.invalidate(),
  };
}

/** Moves the cursor to its column after each such emoji, with wrapping off. The TUI library counts these codes as width 0. */
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

/** Joiners, variation selectors, keycaps, regional indicators, skin tones, tags. */
const AMBIGUOUS_WIDTH =
  /[\u200d\ufe0e\ufe0f\u20e3\u{1f1e6}-\u{1f1ff}\u{1f3fb}-\u{1f3ff}\u{e0020}-\u{e007f}]/u;

/** The codes that the TUI library writes: colours, links and the cursor position. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: terminal codes begin with one
const TERMINAL_CODES = /(\x1b\[[0-?]*[A-Za-z]|\x1b[\]_][^\x07\x1b]*(?:\x07|\x1b\\))/;
