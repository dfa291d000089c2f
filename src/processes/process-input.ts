import { closeSync, constants, openSync, writeFileSync, writeSync } from "node:fs";
import { Socket } from "node:net";
import { PostriderError } from "../core/errors.ts";
import type { ProcessFolder } from "./process-folder.ts";

/** What waits to be read by it. */
const MOST_WAITING = 1024 * 1024;

/** The input of a command, through a named pipe that its recorder holds open. */
export interface ProcessInput {
  write(text: string): void;
  end(): void;
  /** Its command has ended. */
  close(): void;
}

export function openProcessInput(folder: ProcessFolder, pty: boolean): ProcessInput {
  let pipe: Socket | undefined;
  let hasEnded = folder.hasFile("input-ended");
  // A keeper before us may have been killed between its two steps.
  if (hasEnded) tell("end");

  function opened(): Socket {
    if (pipe !== undefined) return pipe;
    const handle = openSync(folder.getFilePath("in"), constants.O_RDWR | constants.O_NONBLOCK);
    pipe = new Socket({ fd: handle, readable: false, writable: true });
    pipe.on("error", () => {}); // it need not read
    pipe.unref();
    return pipe;
  }

  function tell(name: "end" | "in"): void {
    try {
      const handle = openSync(folder.getFilePath(name), constants.O_RDWR | constants.O_NONBLOCK);
      writeSync(handle, "\n");
      closeSync(handle);
    } catch {
      // It has ended, and its files are gone.
    }
  }

  return {
    write(text) {
      if (hasEnded)
        throw new PostriderError("closed", "The input of the process was ended; nothing was written.");
      const to = opened();
      if (to.writableLength + text.length > MOST_WAITING)
        throw new PostriderError("busy", "The process does not read its input; nothing more was written.");
      to.write(text);
    },
    end() {
      if (hasEnded) return;
      hasEnded = true;
      const finish = (): void => {
        try {
          writeFileSync(folder.getFilePath("input-ended"), "", { mode: 0o600 });
        } catch {
          return; // as above
        }
        tell("end");
      };
      if (pipe === undefined) finish();
      else {
        pipe.once("close", finish);
        pipe.end();
      }
    },
    close() {
      pipe?.destroy();
      // Whoever holds the input ends now, also if somebody has killed its recorder.
      tell(pty ? "in" : "end");
    },
  };
}
