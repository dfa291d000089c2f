import { connect } from "node:net";
import { type ErrorCode, PostriderError } from "../core/errors.ts";
import {
  KEEPER_PROTOCOL,
  type KeeperRequest,
  MAX_REQUEST_LINE,
  parseJsonObject,
  parseKeeperRequest,
  readSocketLines,
  sendLine,
} from "./protocol.ts";

/** Nobody is there, or whoever was there has hung up. `isSent` tells whether the request may have been heard. */
export class UnansweredError extends Error {
  readonly isSent: boolean;

  constructor(isSent: boolean) {
    super("nobody answers");
    this.isSent = isSent;
  }
}

/** One request over a connection of its own. Throws what the keeper says, or `Unanswered`. */
export function sendKeeperRequest(path: string, request: KeeperRequest, signal: AbortSignal): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  let isSent = false;
  const socket = connect(path);
  const finish = (settle: () => void): void => {
    settle();
    socket.destroy();
  };
  const hangUp = (): void => finish(() => reject(createConnectionClosedError()));
  socket.on("error", () => reject(new UnansweredError(isSent)));
  socket.on("close", () => {
    signal.removeEventListener("abort", hangUp);
    reject(new UnansweredError(isSent));
  });
  signal.addEventListener("abort", hangUp, { once: true });
  const onLine = (line: string): void => {
    const said = parseJsonObject(line);
    if (isSent) finish(() => (said?.done === true ? resolve() : reject(toKeeperError(said))));
    else if (said?.keeper !== KEEPER_PROTOCOL) finish(() => reject(createVersionError(said)));
    else {
      isSent = true;
      sendLine(socket, { ...request, id: 1 });
    }
  };
  readSocketLines(socket, onLine, () => finish(() => reject(toKeeperError(undefined))));
  return promise;
}

/** Refused here, with a sentence: the keeper would only hang up. */
export function checkRequest(request: KeeperRequest): void {
  const line = JSON.stringify({ ...request, id: 1 });
  if (line.length > MAX_REQUEST_LINE)
    throw new PostriderError(
      "too_large",
      `More than ${MAX_REQUEST_LINE} characters cannot be given to a process at once.`,
    );
  if (parseKeeperRequest(line) === undefined)
    throw new PostriderError("invalid_input", `This cannot be asked of a process: ${request.do}.`);
}

export function createConnectionClosedError(): PostriderError {
  return new PostriderError("closed", "The connection to the keeper of processes was closed.");
}

function toKeeperError(said: Record<string, unknown> | undefined): PostriderError {
  const { code = "internal", message = "The keeper of processes gave no answer that can be read." } =
    (said?.error ?? {}) as { code?: ErrorCode; message?: string };
  return new PostriderError(code, message);
}

function createVersionError(said: Record<string, unknown> | undefined): PostriderError {
  const who =
    typeof said?.pid === "number" ? ` It is process ${said.pid}; ending it ends what it looks after.` : "";
  return new PostriderError(
    "in_use",
    `The keeper of processes that runs is of another version of Postrider, and ends when its programs have.${who}`,
  );
}
