/** The text of a file, or the type of a binary file. */
export type DecodedText =
  | { readonly text: string; readonly encoding: "UTF-8" | "UTF-16" | "Latin-1" }
  | { readonly binary: string };

/** The number of bytes that are searched for a NUL, which text does not have. */
const CHECKED_BYTES = 8192;

/** File types by their first bytes. */
const FILE_SIGNATURES: readonly (readonly [begins: string, kind: string])[] = [
  ["89504e47", "a PNG image"],
  ["ffd8ff", "a JPEG image"],
  ["47494638", "a GIF image"],
  ["424d", "a bitmap image"],
  ["52494646", "a WebP image, sound or video"],
  ["25504446", "a PDF document"],
  ["504b0304", "a ZIP archive or an office document"],
  ["1f8b", "gzip-compressed"],
  ["28b52ffd", "zstd-compressed"],
  ["fd377a585a00", "xz-compressed"],
  ["7f454c46", "a program"],
  ["53514c69746520666f726d6174203300", "an SQLite database"],
];

/** `isPart`: the bytes start or end inside a file, perhaps inside a character. */
export function decodeText(
  bytes: Uint8Array,
  { isPart = false }: { readonly isPart?: boolean } = {},
): DecodedText {
  const [first, second] = bytes;
  if (first === 0xff && second === 0xfe) return { text: decodeAs("utf-16le", bytes), encoding: "UTF-16" };
  if (first === 0xfe && second === 0xff) return { text: decodeAs("utf-16be", bytes), encoding: "UTF-16" };
  const known = detectKind(bytes);
  if (known === "a PDF document" || bytes.subarray(0, CHECKED_BYTES).includes(0))
    return { binary: known ?? "not text" };
  try {
    const whole = isPart ? dropHalfCharacters(bytes) : bytes;
    return { text: new TextDecoder("utf-8", { fatal: true }).decode(whole), encoding: "UTF-8" };
  } catch {
    return known === undefined ? { text: decodeAs("latin1", bytes), encoding: "Latin-1" } : { binary: known };
  }
}

function decodeAs(encoding: string, bytes: Uint8Array): string {
  return new TextDecoder(encoding).decode(bytes);
}

function detectKind(bytes: Uint8Array): string | undefined {
  const begins = Buffer.from(bytes.subarray(0, 16)).toString("hex");
  return FILE_SIGNATURES.find(([start]) => begins.startsWith(start))?.[1];
}

/** Removes the bytes of incomplete characters at either end. */
function dropHalfCharacters(bytes: Uint8Array): Uint8Array {
  const isInside = (byte: number | undefined): boolean => byte !== undefined && (byte & 0xc0) === 0x80;
  let from = 0;
  while (from < 3 && isInside(bytes[from])) from += 1;
  let to = bytes.length;
  while (to > bytes.length - 3 && isInside(bytes[to - 1])) to -= 1;
  const lead = bytes[to - 1] ?? 0;
  const length = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : lead >= 0xc0 ? 2 : 1;
  // The first byte of the last character tells its length.
  return bytes.subarray(from, bytes.length - to + 1 >= length ? bytes.length : to - 1);
}
