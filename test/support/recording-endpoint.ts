import { createServer, type IncomingHttpHeaders, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { onTestFinished } from "vitest";
import { listeners } from "./listeners.ts";
import { anthropicMessagesEvents } from "./model-streams/anthropic-messages.ts";
import { chatCompletionsEvents } from "./model-streams/chat-completions.ts";
import type { AnswerEvents, ModelAnswer } from "./model-streams/model-answer.ts";
import { responsesEvents } from "./model-streams/responses.ts";

export type { ModelAnswer } from "./model-streams/model-answer.ts";

export type RequestShape = "chat" | "responses" | "anthropic";
/** What the request is for: an answer to a person, or one of Postrider's own requests. */
export type RequestKind = "answer" | "title" | "summary" | "flush";

/** A request as it came over the wire. */
export interface RecordedRequest {
  readonly kind: RequestKind;
  readonly shape: RequestShape;
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: Readonly<Record<string, unknown>>;
}

export interface EndpointScript {
  /** The n-th answer to a person's request is the n-th here, then the last. */
  readonly answers?: readonly ModelAnswer[];
  /** Answers to Postrider's own requests; without one, the request is refused. */
  readonly title?: ModelAnswer;
  readonly summary?: ModelAnswer;
  /** The n-th request of a memory flush gets the n-th of these, then the last. */
  readonly flush?: readonly ModelAnswer[];
}

export interface RecordingEndpoint {
  /** The base URL for `model.base_url`, whatever the provider. */
  readonly url: string;
  readonly requests: readonly RecordedRequest[];
  /** All requests of one kind, as soon as there are `count`. The error lists the requests that arrived. */
  untilAsked(kind: RequestKind, count?: number): Promise<readonly RecordedRequest[]>;
}

/** Less than the time of a test, so that the failure says which request is missing. */
const LONGEST_WAIT_MS = 30_000;

/** A model endpoint on real HTTP that records every request. It closes when the test ends. */
export async function recordingEndpoint(script: EndpointScript = {}): Promise<RecordingEndpoint> {
  const requests: RecordedRequest[] = [];
  const changes = listeners();
  const server = createServer((request, response) => {
    void (async () => {
      let text = "";
      for await (const chunk of request) text += chunk;
      const path = request.url ?? "";
      const shape = shapeOf(path);
      if (request.method !== "POST" || shape === undefined) {
        response.writeHead(404).end();
        return;
      }
      const body = JSON.parse(text) as RecordedRequest["body"];
      const kind = kindOf(body);
      const number = requests.filter((other) => other.kind === kind).length;
      requests.push({ kind, shape, path, headers: request.headers, body });
      sendAnswer(response, shape, answerIn(script, kind, number));
      changes.tell();
    })();
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`,
    requests,
    untilAsked(kind, count = 1) {
      const asked = changes.until(() => {
        const found = requests.filter((request) => request.kind === kind);
        return found.length >= count ? found : undefined;
      });
      const kinds = (): string => requests.map((request) => request.kind).join(", ") || "nothing";
      return within(
        LONGEST_WAIT_MS,
        asked,
        () => `the model was asked for ${kinds()}, not ${count} × ${kind}`,
      );
    },
  };
}

async function within<Result>(ms: number, work: Promise<Result>, reason: () => string): Promise<Result> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(reason())), ms);
  });
  return Promise.race([work, late]).finally(() => clearTimeout(timer));
}

function shapeOf(path: string): RequestShape | undefined {
  if (path.endsWith("/chat/completions")) return "chat";
  if (path.endsWith("/responses")) return "responses";
  return path.endsWith("/v1/messages") ? "anthropic" : undefined;
}

/** How Postrider's own requests begin. */
const OWN_REQUESTS: readonly (readonly [RequestKind, string])[] = [
  ["title", "Write a title for this conversation"],
  ["summary", "Write a summary of this conversation"],
  ["flush", "The conversation above is about to be put away"],
];

function kindOf({ messages, input }: RecordedRequest["body"]): RequestKind {
  const said = JSON.stringify(messages ?? input);
  return OWN_REQUESTS.find(([, words]) => said.includes(`"${words}`))?.[0] ?? "answer";
}

const REFUSED: ModelAnswer = { status: 400 };

function answerIn(script: EndpointScript, kind: RequestKind, number: number): ModelAnswer {
  if (kind === "title" || kind === "summary") return script[kind] ?? REFUSED;
  const answers = kind === "flush" ? script.flush : (script.answers ?? [{ say: "Understood." }]);
  return answers?.[Math.min(number, answers.length - 1)] ?? REFUSED;
}

const EVENTS: Readonly<Record<RequestShape, (answer: ModelAnswer) => AnswerEvents>> = {
  chat: chatCompletionsEvents,
  responses: responsesEvents,
  anthropic: anthropicMessagesEvents,
};

function sendAnswer(response: ServerResponse, shape: RequestShape, answer: ModelAnswer): void {
  if (answer.status !== undefined) {
    response.writeHead(answer.status, { "content-type": "application/json" });
    response.end(JSON.stringify({ type: "error", error: { type: "refused", message: "refused" } }));
    return;
  }
  const { begin, end } = EVENTS[shape](answer);
  response.writeHead(200, { "content-type": "text/event-stream" });
  for (const event of answer.hang ? begin : [...begin, ...end]) response.write(formatEvent(event));
  if (!answer.hang) response.end();
}

function formatEvent(event: unknown): string {
  if (typeof event === "string") return `data: ${event}\n\n`;
  const { type } = event as { readonly type?: string };
  return `${type === undefined ? "" : `event: ${type}\n`}data: ${JSON.stringify(event)}\n\n`;
}
