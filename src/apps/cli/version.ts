import { readFileSync } from "node:fs";

/** The path is the same from src/apps/cli (clone) and dist/apps/cli (package). */
export function readVersion(): string {
  const file = new URL("../../../package.json", import.meta.url);
  return (JSON.parse(readFileSync(file, "utf8")) as { version: string }).version;
}
