import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

/** The reply to one request: parts of an answer, or a fault. */
export interface Reply {
  readonly status?: number;
  readonly body?: unknown;
  readonly say?: readonly string[];
  readonly think?: string;
  readonly usage?: unknown;
  /** Tool calls after the text. Arguments are JSON text. */
  readonly calls?: readonly {
    readonly id: string;
    readonly name: string;
    readonly arguments: string;
    /** The thought signature of Google's models. */
    readonly signature?: string;
  }[];
  /** The finish reason, if it is not the usual one. */
  readonly finish?: string;
  /** Sends nothing after the last part, and keeps the connection open. */
  readonly hang?: boolean;
  /** Cuts the connection after the last part. */
  readonly cut?: boolean;
  /** Sends an error in the stream after the last part. */
  readonly error?: unknown;
}

export interface ModelServer {
  readonly url: string;
  /** The answer to a title request. Default: an error. */
  title?: string;
  /** The reported usage of a title request. */
  titleUsage?: unknown;
  /** The answer to a request for the list of models. Default: none. */
  models?: unknown;
  /** The headers of each request for the list of models. */
  readonly listed: IncomingMessage["headers"][];
  /** All requests in order, except for titles. */
  readonly requests: { readonly headers: IncomingMessage["headers"]; readonly body: Asked }[];
  /** Resolves when a client has disconnected during an answer. */
  readonly left: Promise<void>;
  close(): void;
}

export interface Asked {
  readonly model: string;
  readonly messages: readonly { readonly role: string; readonly content: unknown }[];
  readonly tools?: readonly { readonly function: { readonly name: string; readonly parameters: unknown } }[];
  readonly reasoning_effort?: string;
}

/** A server with OpenAI's protocol. Answers the n-th request with the n-th reply, later ones with the last. */
export async function startModelServer(...replies: readonly Reply[]): Promise<ModelServer> {
  const made: { title?: string; titleUsage?: unknown; models?: unknown } = {};
  const listed: IncomingMessage["headers"][] = [];
  const requests: { headers: IncomingMessage["headers"]; body: Asked }[] = [];
  let leave = (): void => {};
  const left = new Promise<void>((resolve) => {
    leave = resolve;
  });
  const server = createServer((request, response) => {
    void (async () => {
      if (request.method === "GET") {
        listed.push(request.headers);
        if (made.models !== undefined) response.end(JSON.stringify(made.models));
        return;
      }
      let text = "";
      for await (const chunk of request) text += chunk;
      const body = JSON.parse(text) as Asked;
      response.on("close", () => response.writableEnded || leave());
      if (String(body.messages.at(-1)?.content).startsWith("Write a title")) {
        const title = { say: [made.title ?? ""], usage: made.titleUsage };
        answer(response, made.title === undefined ? { status: 400 } : title);
        return;
      }
      const reply = replies[Math.min(requests.length, replies.length - 1)] ?? {};
      requests.push({ headers: request.headers, body });
      answer(response, reply);
    })();
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`;
  const close = (): void => {
    server.closeAllConnections();
    server.close();
  };
  return Object.assign(made, { url, requests, listed, left, close });
}

function answer(response: ServerResponse, reply: Reply): void {
  if (reply.status !== undefined) {
    response.writeHead(reply.status, { "content-type": "application/json" });
    response.end(JSON.stringify(reply.body ?? { error: { message: "no" } }));
    return;
  }
  response.writeHead(200, { "content-type": "text/event-stream" });
  const send = (event: unknown): void => void response.write(`data: ${JSON.stringify(event)}\n\n`);
  const chunk = (delta: unknown, end: string | null = null): void =>
    send({
      id: "c",
      object: "chat.completion.chunk",
      created: 1,
      model: "m",
      choices: [{ index: 0, delta, finish_reason: end }],
    });
  if (reply.think !== undefined) chunk({ role: "assistant", reasoning_content: reply.think });
  for (const content of reply.say ?? []) chunk({ content });
  for (const [index, { id, name, arguments: given, signature }] of (reply.calls ?? []).entries()) {
    const opened = {
      index,
      id,
      type: "function",
      function: { name, arguments: given.slice(0, 3) },
      ...(signature !== undefined && { extra_content: { google: { thought_signature: signature } } }),
    };
    chunk({ tool_calls: [opened] });
    chunk({ tool_calls: [{ index, function: { arguments: given.slice(3) } }] });
  }
  if (reply.hang) return;
  if (reply.cut) {
    response.write("data: {", () => response.destroy());
    return;
  }
  if (reply.error !== undefined) {
    send({ error: reply.error });
    response.end();
    return;
  }
  chunk({}, reply.finish ?? (reply.calls === undefined ? "stop" : "tool_calls"));
  if (reply.usage !== undefined)
    send({
      id: "c",
      object: "chat.completion.chunk",
      created: 1,
      model: "m",
      choices: [],
      usage: reply.usage,
    });
  response.end("data: [DONE]\n\n");
}
