/** Parses JSON and keeps integers that are too large for a double as text: an 18-digit id must not change. */
export function parseJson(text: string): unknown {
  return LONG_NUMBER.test(text) ? JSON.parse(text, keepLargeNumber as Reviver) : JSON.parse(text);
}

/** The same for JSON of Python: NaN and Infinity, which are not JSON, become text, so that the line is not lost. */
export function parsePythonJson(text: string): unknown {
  try {
    return parseJson(text);
  } catch (error) {
    if (!NOT_A_NUMBER.test(text)) throw error;
    return parseJson(
      text.replaceAll(TEXT_OR_WORD, (found) => (found.startsWith('"') ? found : `"${found}"`)),
    );
  }
}

/** Whether `parseJson` would change a number to text. */
export function hasLargeNumbers(text: string): boolean {
  if (!LONG_NUMBER.test(text)) return false;
  let found = false;
  const look: SourceReviver = (_, value, context) => {
    if (keepLargeNumber("", value, context) !== value) found = true;
    return value;
  };
  JSON.parse(text, look as Reviver);
  return found;
}

/** JSON.parse passes the source text of each number; the types do not declare it yet. */
type Reviver = (key: string, value: unknown) => unknown;
type SourceReviver = (key: string, value: unknown, context?: { readonly source?: string }) => unknown;

const NOT_A_NUMBER = /NaN|Infinity/;
const TEXT_OR_WORD = /"(?:[^"\\]|\\.)*"|NaN|-?Infinity/g;
const LONG_NUMBER = /\d{16}/;
const WHOLE = /^-?\d+$/;

const keepLargeNumber: SourceReviver = (_, value, context) => {
  if (typeof value !== "number" || Number.isSafeInteger(value)) return value;
  return context?.source !== undefined && WHOLE.test(context.source) ? context.source : value;
};
