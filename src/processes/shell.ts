import { existsSync } from "node:fs";

const SHELLS = ["/bin/bash", "/usr/bin/bash", "/usr/local/bin/bash"];

/** What takes commands here. Never as a login shell: what a person's profile prints is not the program's. */
export function findShell(): string {
  return SHELLS.find((file) => existsSync(file)) ?? "/bin/sh";
}
