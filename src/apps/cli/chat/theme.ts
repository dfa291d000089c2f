import type { EditorTheme, MarkdownTheme, SelectListTheme } from "@earendil-works/pi-tui";
import { highlighter } from "./highlight.ts";

type Paint = (text: string) => string;

/** The colours and styles of the screen. */
export interface Theme {
  readonly dim: Paint;
  readonly bold: Paint;
  readonly accent: Paint;
  readonly warning: Paint;
  readonly markdown: MarkdownTheme;
  readonly list: SelectListTheme;
  readonly editor: EditorTheme;
}

export function buildTheme(hasColor: boolean): Theme {
  const paint = (on: string, off: string): Paint =>
    hasColor ? (text) => `\x1b[${on}m${text}\x1b[${off}m` : (text) => text;
  const dim = paint("2", "22");
  const bold = paint("1", "22");
  const accent = paint("36", "39");
  const warning = paint("33", "39");
  const green = paint("32", "39");
  const underline = paint("4", "24");
  const list: SelectListTheme = {
    selectedPrefix: accent,
    selectedText: hasColor ? (text) => bold(accent(text)) : (text) => text,
    description: dim,
    scrollInfo: dim,
    noMatch: () => warning("  no matches"),
  };
  return {
    dim,
    bold,
    accent,
    warning,
    list,
    editor: { borderColor: dim, selectList: list },
    markdown: {
      heading: (text) => bold(accent(text)),
      link: underline,
      linkUrl: dim,
      code: accent,
      codeBlock: green,
      codeBlockBorder: dim,
      quote: paint("3", "23"),
      quoteBorder: dim,
      hr: dim,
      listBullet: accent,
      bold,
      italic: paint("3", "23"),
      strikethrough: paint("9", "29"),
      underline,
      ...(hasColor && { highlightCode: highlighter() }),
    },
  };
}
