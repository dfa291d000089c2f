import { closeSync, constants, openSync, writeSync } from "node:fs";
import { rm } from "node:fs/promises";
import { makeFifos } from "./fifos.ts";

/** What a program in a terminal waits behind: it must not read a word from the terminal, which would show it. */
export interface Gate {
  /** Given to the shell as `$2`. */
  readonly path: string;
  open(): void;
  /** Whoever waits there goes home. */
  close(): void;
}

/** If we are gone before it is opened, nothing comes through, and the kernel hangs up on who waits. */
export const THROUGH_GATE = 'read -r go < "$2" || exit 125; exec "$0" -c "$1"';

export async function closedGate(): Promise<Gate> {
  const { folder, paths } = await makeFifos("gate");
  const [path = ""] = paths;
  let handle: number | undefined = openSync(path, constants.O_RDWR | constants.O_NONBLOCK);
  const close = (): void => {
    if (handle === undefined) return;
    closeSync(handle);
    handle = undefined;
    void rm(folder, { recursive: true, force: true });
  };
  return {
    path,
    open() {
      if (handle !== undefined) writeSync(handle, "\n");
    },
    close,
  };
}
