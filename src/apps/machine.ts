import { readFileSync } from "node:fs";
import { platform, release, type } from "node:os";
import type { MachineInfo } from "../core/tool-environment-prompt.ts";
import { findShell } from "../processes/shell.ts";

let cachedMachine: MachineInfo | undefined;

/** Describes the machine on which commands run. Read once per process. */
export function readMachine(): MachineInfo {
  cachedMachine ??= { system: readSystemName(), shell: findShell() };
  return cachedMachine;
}

function readSystemName(): string {
  if (platform() === "darwin") return `macOS (Darwin ${release()})`;
  if (platform() !== "linux") return `${type()} ${release()}`;
  const distribution = parseDistributionName(readOsRelease());
  return distribution === undefined ? "Linux" : `Linux (${distribution})`;
}

function readOsRelease(): string {
  try {
    return readFileSync("/etc/os-release", "utf8");
  } catch {
    return ""; // a container may have none
  }
}

/** Name and version of a distribution, from the text of an os-release file. */
export function parseDistributionName(text: string): string | undefined {
  const read = (key: string): string | undefined =>
    new RegExp(`^${key}=(["']?)([\\w .+/-]{1,80})\\1$`, "m").exec(text)?.[2];
  const name = read("NAME");
  return name === undefined ? undefined : [name, read("VERSION_ID")].filter(Boolean).join(" ");
}
