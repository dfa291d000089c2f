import { common, createLowlight } from "lowlight";

/** A node of a highlighted text: plain text, or a span with a class. */
type HighlightNode =
  | { readonly type: "text"; readonly value: string }
  | {
      readonly type: string;
      readonly properties?: { readonly className?: unknown };
      readonly children?: readonly HighlightNode[];
    };

/** The eight standard colours, so that the terminal's own palette applies. */
const COLORS: Readonly<Record<string, number>> = {
  keyword: 35,
  "selector-tag": 35,
  literal: 36,
  number: 36,
  symbol: 36,
  string: 32,
  regexp: 32,
  addition: 32,
  comment: 90,
  quote: 90,
  meta: 90,
  deletion: 31,
  title: 34,
  section: 34,
  name: 34,
  attr: 33,
  attribute: 33,
  built_in: 33,
  type: 33,
};

/** Longer code stays plain, because some grammars take quadratic time. */
const MAX_CODE_LENGTH = 4000;
/** Their grammars take seconds for a page of brackets. */
const SLOW_GRAMMAR = "markdown";

/** Highlights code by its language, line by line. An unknown language stays plain. */
export function highlighter(): (code: string, language?: string) => string[] {
  const { [SLOW_GRAMMAR]: _, ...grammars } = common;
  const lowlight = createLowlight(grammars);
  return (code, language) => {
    if (language === undefined || code.length > MAX_CODE_LENGTH || !lowlight.registered(language))
      return code.split("\n");
    const root = lowlight.highlight(language, code) as unknown as HighlightNode;
    return paintNode(root, undefined).split("\n");
  };
}

function paintNode(node: HighlightNode, color: number | undefined): string {
  if (node.type === "text" && "value" in node) return paint(node.value, color);
  if (!("children" in node)) return "";
  const inner = findColor(node.properties?.className) ?? color;
  return (node.children ?? []).map((child) => paintNode(child, inner)).join("");
}

function findColor(classes: unknown): number | undefined {
  if (!Array.isArray(classes)) return undefined;
  const known = classes.map(
    (name) =>
      COLORS[
        String(name)
          .replace(/^hljs-/, "")
          .replace(/_$/, "")
      ],
  );
  return known.find((color) => color !== undefined);
}

/** A colour ends with its line. */
function paint(text: string, color: number | undefined): string {
  if (color === undefined) return text;
  return text.replaceAll(/[^\n]+/g, (line) => `\x1b[${color}m${line}\x1b[39m`);
}
