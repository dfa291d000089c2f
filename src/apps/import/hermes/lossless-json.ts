/**
 * JSON in which a whole number too large for a double becomes text: chat and message ids of 18 digits would otherwise
 * come out as somebody else's.
 */
export function parseJson(text: string): unknown {
  return LONG_NUMBER.test(text) ? JSON.parse(text, keepLargeNumber as Reviver) : JSON.parse(text);
}

/**
 * The same for JSON that Python wrote: NaN and the infinities, which are no JSON, become texts. A line with one of them is
 * kept and not lost.
 */
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

/** Whether `parseJson` would have to change something to keep it. */
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

/** JSON.parse gives the source text of each number; the library's types do not say so yet. */
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
