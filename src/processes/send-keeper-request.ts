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

/** No keeper listens, or it closed the connection. `isSent` says whether the keeper may have received the request. */
export class UnansweredError extends Error {
  readonly isSent: boolean;

  constructor(isSent: boolean) {
    super("the process keeper does not answer");
    this.isSent = isSent;
  }
}

/** Sends one request over its own connection. Throws the error that the keeper reports, or `UnansweredError`. */
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
    const answer = parseJsonObject(line);
    if (isSent) finish(() => (answer?.done === true ? resolve() : reject(toKeeperError(answer))));
    else if (answer?.keeper !== KEEPER_PROTOCOL) finish(() => reject(createVersionError(answer)));
    else {
      isSent = true;
      sendLine(socket, { ...request, id: 1 });
    }
  };
  readSocketLines(socket, onLine, () => finish(() => reject(toKeeperError(undefined))));
  return promise;
}

/** Refuses an invalid request with a sentence: the keeper would only close the connection. */
export function checkRequest(request: KeeperRequest): void {
  const line = JSON.stringify({ ...request, id: 1 });
  if (line.length > MAX_REQUEST_LINE)
    throw new PostriderError(
      "too_large",
      `A request to the process keeper is limited to ${MAX_REQUEST_LINE} characters.`,
    );
  if (parseKeeperRequest(line) === undefined)
    throw new PostriderError(
      "invalid_input",
      `The request "${request.do}" to the process keeper is invalid.`,
    );
}

export function createConnectionClosedError(): PostriderError {
  return new PostriderError("closed", "The connection to the process keeper was closed.");
}

function toKeeperError(answer: Record<string, unknown> | undefined): PostriderError {
  const { code = "internal", message = "The process keeper sent an invalid answer." } = (answer?.error ??
    {}) as { code?: ErrorCode; message?: string };
  return new PostriderError(code, message);
}

function createVersionError(answer: Record<string, unknown> | undefined): PostriderError {
  const hint =
    typeof answer?.pid === "number" ? ` Its pid is ${answer.pid}; ending it ends its processes.` : "";
  return new PostriderError(
    "in_use",
    `The running process keeper belongs to another version of Postrider, and exits after its processes.${hint}`,
  );
}
