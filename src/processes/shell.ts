import { existsSync } from "node:fs";

const SHELLS = ["/bin/bash", "/usr/bin/bash", "/usr/local/bin/bash"];

/** The shell that runs commands. Never a login shell: output of a person's profile is not output of the command. */
export function findShell(): string {
  return SHELLS.find((file) => existsSync(file)) ?? "/bin/sh";
}
