import { readFileSync } from "node:fs";
import { platform, release, type } from "node:os";
import type { Machine } from "../core/workplace-prompt.ts";
import { shell } from "../processes/shell.ts";

let known: Machine | undefined;

/** The machine on which commands run. Read once: it stays the same for as long as the process lives. */
export function thisMachine(): Machine {
  known ??= { system: systemName(), shell: shell() };
  return known;
}

function systemName(): string {
  if (platform() === "darwin") return `macOS (Darwin ${release()})`;
  if (platform() !== "linux") return `${type()} ${release()}`;
  const distribution = nameIn(readRelease());
  return distribution === undefined ? "Linux" : `Linux (${distribution})`;
}

function readRelease(): string {
  try {
    return readFileSync("/etc/os-release", "utf8");
  } catch {
    return ""; // a container may have none
  }
}

/** Name and version of a distribution, from the text of an os-release file. */
export function nameIn(text: string): string | undefined {
  const read = (key: string): string | undefined =>
    new RegExp(`^${key}=(["']?)([\\w .+/-]{1,80})\\1$`, "m").exec(text)?.[2];
  const name = read("NAME");
  return name === undefined ? undefined : [name, read("VERSION_ID")].filter(Boolean).join(" ");
}
