/** Formats a byte count: 512 bytes, 3.4 MB. */
export function formatSize(bytes: number): string {
  const units = ["kB", "MB", "GB", "TB"];
  let value = bytes;
  let unit = "bytes";
  for (const next of units) {
    if (value < 1000) break;
    value /= 1000;
    unit = next;
  }
  return `${unit === "bytes" || value >= 100 ? Math.round(value) : value.toFixed(1)} ${unit}`;
}
