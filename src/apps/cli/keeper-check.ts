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

/** Longer than a keeper on a busy machine takes to greet. */
const GREETING_TIMEOUT_MS = 3000;

/** What looks after the processes of agents: whether it is reached, and by nobody else. */
export async function checkKeeper({ folder }: Home): Promise<Finding> {
  let path: string;
  try {
    path = resolveSocketPath(folder);
  } catch (error) {
    return reportProblem("keeper", (error as Error).message, "Until then no process can be started.");
  }
  const found = lstatSync(path, { throwIfNoEntry: false });
  if (found === undefined) return reportOk("keeper", "No keeper of processes is needed now.");
  if (!found.isSocket() || found.uid !== process.getuid?.())
    return reportProblem(
      "keeper",
      `${path} is not a socket of yours, so nobody can ask the keeper of processes.`,
      "Remove it.",
    );
  if ((found.mode & 0o077) !== 0)
    return reportFixable("keeper", "Others on this machine may speak to the keeper of processes.");
  const pid = await readGreeting(path);
  if (pid === "nobody")
    return reportWarning(
      "keeper",
      "The keeper of processes was killed.",
      "The next process that starts, or postrider processes kill, brings another.",
    );
  if (pid === "silent")
    return reportProblem(
      "keeper",
      "The keeper of processes does not answer.",
      "logs/keeper.log in the home may say why.",
    );
  return reportOk("keeper", `The keeper of processes answers (process ${pid}).`);
}

export function fixKeeper({ folder }: Home): string {
  chmodSync(resolveSocketPath(folder), 0o600);
  return "The socket of the keeper of processes made private.";
}

/** Who greets there. */
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
