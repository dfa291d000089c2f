import { chmodSync, lstatSync } from "node:fs";
import { connect } from "node:net";
import { parseJsonObject, readSocketLines } from "../../processes/protocol.ts";
import { resolveSocketPath } from "../../processes/socket-path.ts";
import {
  type Finding,
  reportFixable,
  reportOk,
  reportProblem,
  reportWarning,
} from "../../stores/sqlite/upkeep/findings.ts";
import type { Home } from "../home.ts";

/** Longer than the greeting of a keeper takes on a busy machine. */
const GREETING_TIMEOUT_MS = 3000;

/** Checks that the process keeper answers, and that only this user can reach it. */
export async function checkKeeper({ folder }: Home): Promise<Finding> {
  let path: string;
  try {
    path = resolveSocketPath(folder);
  } catch (error) {
    return reportProblem(
      "keeper",
      (error as Error).message,
      "Postrider cannot start processes until this is solved.",
    );
  }
  const found = lstatSync(path, { throwIfNoEntry: false });
  if (found === undefined)
    return reportOk("keeper", "The process keeper does not run; it is not needed now.");
  if (!found.isSocket() || found.uid !== process.getuid?.())
    return reportProblem(
      "keeper",
      `${path} is not a socket that you own, so Postrider cannot reach the process keeper.`,
      "Remove the file.",
    );
  if ((found.mode & 0o077) !== 0)
    return reportFixable("keeper", "Other users of this machine can connect to the process keeper.");
  const pid = await readGreeting(path);
  if (pid === "nobody")
    return reportWarning(
      "keeper",
      "The process keeper was killed.",
      "The next process start, or postrider processes kill, starts a new one.",
    );
  if (pid === "silent")
    return reportProblem("keeper", "The process keeper does not answer.", "See logs/keeper.log in the home.");
  return reportOk("keeper", `The process keeper answers (process ${pid}).`);
}

export function fixKeeper({ folder }: Home): string {
  chmodSync(resolveSocketPath(folder), 0o600);
  return "Made the socket of the process keeper private.";
}

/** The process that answers on the socket. */
function readGreeting(path: string): Promise<number | "nobody" | "silent"> {
  const { promise, resolve } = Promise.withResolvers<number | "nobody" | "silent">();
  const socket = connect(path);
  const timer = setTimeout(() => resolve("silent"), GREETING_TIMEOUT_MS);
  socket.on("error", () => resolve("nobody"));
  socket.on("close", () => resolve("silent"));
  const greeted = (line: string): void => {
    const pid = parseJsonObject(line)?.pid;
    resolve(typeof pid === "number" ? pid : "silent");
  };
  readSocketLines(socket, greeted, () => resolve("silent"));
  return promise.finally(() => {
    clearTimeout(timer);
    socket.destroy();
  });
}
