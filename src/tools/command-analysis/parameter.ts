import { MARK } from "./marks.ts";

/** Expands `${name OPERATOR rest}` for a known value. Undefined if the result is unknown. */
export function applyOperator(value: string, operator: string, rest: string): string | undefined {
  if (/[\uE003-\uE006]/.test(value)) return undefined;
  switch (operator) {
    case "":
      return value;
    case ":":
      return cut(value, rest);
    case "^^":
      return rest === "" ? value.toUpperCase() : undefined;
    case ",,":
      return rest === "" ? value.toLowerCase() : undefined;
    case "^":
      return rest === "" ? value.slice(0, 1).toUpperCase() + value.slice(1) : undefined;
    case ",":
      return rest === "" ? value.slice(0, 1).toLowerCase() + value.slice(1) : undefined;
    default:
      return /[*?[\\]/.test(rest) ? undefined : replace(value, operator, rest);
  }
}

function cut(value: string, rest: string): string | undefined {
  const found = /^\s*(-?\d{1,9})\s*(?::\s*(-?\d{1,9})\s*)?$/.exec(rest);
  if (found === null) return undefined;
  const offset = Number(found[1]);
  const start = offset < 0 ? Math.max(0, value.length + offset) : offset;
  if (found[2] === undefined) return value.slice(start);
  const length = Number(found[2]);
  return value.slice(start, length < 0 ? value.length + length : start + length);
}

function replace(value: string, operator: string, rest: string): string | undefined {
  if (operator.startsWith("#")) return value.startsWith(rest) ? value.slice(rest.length) : value;
  if (operator.startsWith("%"))
    return value.endsWith(rest) ? value.slice(0, value.length - rest.length) : value;
  if (!operator.startsWith("/")) return undefined;
  const [from = "", to = ""] = rest.split(/\/(.*)/s);
  // Each match inserts `to`: the result must not grow quadratically.
  if (from === "" || /^[#%]/.test(from) || value.length * to.length > 100_000) return undefined;
  return operator === "//" ? value.replaceAll(from, to) : value.replace(from, () => to);
}

/** An unknown value, with its known part. */
export function markMade(text: string): string {
  return MARK.made + text;
}
