import { readFileSync } from "node:fs";

/** The same distance from the package's root in a clone (src/apps/cli) and in the package (dist/apps/cli). */
export function readVersion(): string {
  const file = new URL("../../../package.json", import.meta.url);
  return (JSON.parse(readFileSync(file, "utf8")) as { version: string }).version;
}
