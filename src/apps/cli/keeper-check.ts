import { chmodSync, lstatSync } from "node:fs";
import { connect } from "node:net";
import { eachLine, readObject } from "../../processes/protocol.ts";
import { socketPath } from "../../processes/socket-path.ts";
import { type Finding, fine, fixable, problem, warning } from "../../stores/sqlite/upkeep/findings.ts";
import type { Home } from "../home.ts";

/** Longer than a keeper on a busy machine takes to greet. */
const PATIENCE_MS = 3000;

/** What looks after the processes of agents: whether it is reached, and by nobody else. */
export async function checkKeeper({ folder }: Home): Promise<Finding> {
  let path: string;
  try {
    path = socketPath(folder);
  } catch (error) {
    return problem("keeper", (error as Error).message, "Until then no process can be started.");
  }
  const found = lstatSync(path, { throwIfNoEntry: false });
  if (found === undefined) return fine("keeper", "No keeper of processes is needed now.");
  if (!found.isSocket() || found.uid !== process.getuid?.())
    return problem(
      "keeper",
      `${path} is not a socket of yours, so nobody can ask the keeper of processes.`,
      "Remove it.",
    );
  if ((found.mode & 0o077) !== 0)
    return fixable("keeper", "Others on this machine may speak to the keeper of processes.");
  const pid = await greeting(path);
  if (pid === "nobody")
    return warning(
      "keeper",
      "The keeper of processes was killed.",
      "The next process that starts, or postrider processes kill, brings another.",
    );
  if (pid === "silent")
    return problem(
      "keeper",
      "The keeper of processes does not answer.",
      "logs/keeper.log in the home may say why.",
    );
  return fine("keeper", `The keeper of processes answers (process ${pid}).`);
}

export function fixKeeper({ folder }: Home): string {
  chmodSync(socketPath(folder), 0o600);
  return "The socket of the keeper of processes made private.";
}

/** Who greets there. */
function greeting(path: string): Promise<number | "nobody" | "silent"> {
  const { promise, resolve } = Promise.withResolvers<number | "nobody" | "silent">();
  const socket = connect(path);
  const timer = setTimeout(() => resolve("silent"), PATIENCE_MS);
  socket.on("error", () => resolve("nobody"));
  socket.on("close", () => resolve("silent"));
  const greeted = (line: string): void => {
    const pid = readObject(line)?.pid;
    resolve(typeof pid === "number" ? pid : "silent");
  };
  eachLine(socket, greeted, () => resolve("silent"));
  return promise.finally(() => {
    clearTimeout(timer);
    socket.destroy();
  });
}
