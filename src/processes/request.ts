import { connect } from "node:net";
import { type ErrorCode, PostriderError } from "../core/errors.ts";
import { eachLine, LONGEST_LINE, PROTOCOL, type Request, readObject, readRequest, send } from "./protocol.ts";

/** Nobody is there, or whoever was there has hung up. `isSent` tells whether the request may have been heard. */
export class Unanswered extends Error {
  readonly isSent: boolean;

  constructor(isSent: boolean) {
    super("nobody answers");
    this.isSent = isSent;
  }
}

/** One request over a connection of its own. Throws what the keeper says, or `Unanswered`. */
export function ask(path: string, request: Request, signal: AbortSignal): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  let isSent = false;
  const socket = connect(path);
  const finish = (settle: () => void): void => {
    settle();
    socket.destroy();
  };
  const hangUp = (): void => finish(() => reject(ended()));
  socket.on("error", () => reject(new Unanswered(isSent)));
  socket.on("close", () => {
    signal.removeEventListener("abort", hangUp);
    reject(new Unanswered(isSent));
  });
  signal.addEventListener("abort", hangUp, { once: true });
  const onLine = (line: string): void => {
    const said = readObject(line);
    if (isSent) finish(() => (said?.done === true ? resolve() : reject(saidError(said))));
    else if (said?.keeper !== PROTOCOL) finish(() => reject(otherVersion(said)));
    else {
      isSent = true;
      send(socket, { ...request, id: 1 });
    }
  };
  eachLine(socket, onLine, () => finish(() => reject(saidError(undefined))));
  return promise;
}

/** Refused here, with a sentence: the keeper would only hang up. */
export function checkRequest(request: Request): void {
  const line = JSON.stringify({ ...request, id: 1 });
  if (line.length > LONGEST_LINE)
    throw new PostriderError(
      "too_large",
      `More than ${LONGEST_LINE} characters cannot be given to a process at once.`,
    );
  if (readRequest(line) === undefined)
    throw new PostriderError("invalid_input", `This cannot be asked of a process: ${request.do}.`);
}

export function ended(): PostriderError {
  return new PostriderError("closed", "The connection to the keeper of processes was closed.");
}

function saidError(said: Record<string, unknown> | undefined): PostriderError {
  const { code = "internal", message = "The keeper of processes gave no answer that can be read." } =
    (said?.error ?? {}) as { code?: ErrorCode; message?: string };
  return new PostriderError(code, message);
}

function otherVersion(said: Record<string, unknown> | undefined): PostriderError {
  const who =
    typeof said?.pid === "number" ? ` It is process ${said.pid}; ending it ends what it looks after.` : "";
  return new PostriderError(
    "in_use",
    `The keeper of processes that runs is of another version of Postrider, and ends when its programs have.${who}`,
  );
}
