import { closeSync, constants, openSync, writeFileSync, writeSync } from "node:fs";
import { Socket } from "node:net";
import { PostriderError } from "../core/errors.ts";
import type { ProcessFolder } from "./process-folder.ts";

/** The maximum length of input that the command has not read. */
const MAX_PENDING = 1024 * 1024;

/** The input of a command, through a named pipe that its recorder holds open. */
export interface ProcessInput {
  write(text: string): void;
  end(): void;
  /** The command has exited. */
  close(): void;
}

export function openProcessInput(folder: ProcessFolder, pty: boolean): ProcessInput {
  let pipe: Socket | undefined;
  let hasEnded = folder.hasFile("input-ended");
  // An earlier keeper may have been killed between the two steps of `end`.
  if (hasEnded) sendNewline("end");

  function openPipe(): Socket {
    if (pipe !== undefined) return pipe;
    const handle = openSync(folder.getFilePath("in"), constants.O_RDWR | constants.O_NONBLOCK);
    pipe = new Socket({ fd: handle, readable: false, writable: true });
    pipe.on("error", () => {}); // the command may exit without reading
    pipe.unref();
    return pipe;
  }

  function sendNewline(name: "end" | "in"): void {
    try {
      const handle = openSync(folder.getFilePath(name), constants.O_RDWR | constants.O_NONBLOCK);
      writeSync(handle, "\n");
      closeSync(handle);
    } catch {
      // The command has exited, and its files are gone.
    }
  }

  return {
    write(text) {
      if (hasEnded)
        throw new PostriderError("closed", "The input of the process was ended; nothing was written.");
      const to = openPipe();
      if (to.writableLength + text.length > MAX_PENDING)
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
          return; // the files are gone
        }
        sendNewline("end");
      };
      if (pipe === undefined) finish();
      else {
        pipe.once("close", finish);
        pipe.end();
      }
    },
    close() {
      pipe?.destroy();
      // The holder of the input exits now, even if its recorder was killed.
      sendNewline(pty ? "in" : "end");
    },
  };
}
