import { once } from "node:events";
import { createServer, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import { describe, expect, it, onTestFinished } from "vitest";
import { chatEnd, chatText, eventText } from "../../../test/support/stream-frames.ts";
import { textPart } from "../../core/message.ts";
import type { AgentEvent } from "../../ports/agent.ts";
import { model } from "./model.ts";

interface Refusal {
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly message?: string;
}

async function serve(listener: RequestListener): Promise<string> {
  const server = createServer((request, response) => {
    request.resume();
    request.on("end", () => listener(request, response));
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return `127.0.0.1:${(server.address() as AddressInfo).port}`;
}

async function ask(host: string): Promise<AgentEvent[]> {
  const agent = model({ provider: "compatible", model: "tiny", baseUrl: `http://${host}/v1` });
  const history = [{ session: "s", seq: 1, at: 0, role: "user" as const, parts: [textPart("hello")] }];
  const found: AgentEvent[] = [];
  const turn = { session: "s", history, blob: async () => undefined };
  for await (const event of agent.run(turn, new AbortController().signal)) found.push(event);
  return found;
}

/** A server that refuses the first request and answers the next. */
async function refuseOnce({ status = 429, headers = {}, message = "slow down" }: Refusal) {
  let requests = 0;
  let refusedAt = 0;
  let waitedMs = 0;
  const host = await serve((_, response) => {
    requests += 1;
    if (requests === 1) {
      refusedAt = performance.now();
      response.writeHead(status, { "content-type": "application/json", ...headers });
      response.end(JSON.stringify({ error: { message } }));
      return;
    }
    waitedMs = performance.now() - refusedAt;
    response.writeHead(200, { "content-type": "text/event-stream" });
    response.end([...chatText("At last."), ...chatEnd("stop")].map(eventText).join(""));
  });
  const events = await ask(host);
  const [first] = events;
  return {
    requests,
    waitedMs,
    first: first?.type === "failed" ? first.reason.replace(host, "HOST") : first,
  };
}

describe("a request that the provider rejects temporarily", () => {
  it.each<[string, Refusal]>([
    ["in a header", { headers: { "retry-after-ms": "30" } }],
    ["in a header, as a date that has passed", { headers: { "retry-after": new Date(0).toUTCString() } }],
    ["in its message", { message: "Rate limit reached. Please try again in 30ms." }],
    ["for an overload too", { status: 529, headers: { "retry-after": "0" } }],
  ])("is retried after the time that the provider names, if it is short: %s", async (_, refusal) => {
    const { requests, first, waitedMs } = await refuseOnce(refusal);
    expect({ requests, first }).toEqual({ requests: 2, first: { type: "text", text: "At last." } });
    expect(waitedMs).toBeLessThan(2000); // the wait when the provider names no time
  });

  const inTenMinutes = new Date(Date.now() + 600_000).toUTCString();
  it.each<[string, Refusal, string]>([
    [
      "20 s",
      { headers: { "retry-after": "20" } },
      "The rate limit of the model server at HOST is reached (429). Try again in 20 s.",
    ],
    [
      "a date",
      { headers: { "retry-after": inTenMinutes } },
      "The rate limit of the model server at HOST is reached (429). Try again in 10 min.",
    ],
    [
      "6m0s",
      { message: "Please try again in 6m0s." },
      "The rate limit of the model server at HOST is reached (429). Try again in 6 min.",
    ],
    [
      "5 hours",
      { message: "Try again after 5 hours" },
      "The rate limit of the model server at HOST is reached (429). Try again in 5 h.",
    ],
    [
      "an outage",
      { status: 503, headers: { "retry-after": "120" } },
      "The model server at HOST is not available at the moment (503). Try again in 2 min.",
    ],
  ])("fails at once with the time, if it is long: %s", async (_, refusal, words) => {
    expect(await refuseOnce(refusal)).toMatchObject({ requests: 1, first: words });
  });

  it.each<[string, Refusal]>([
    ["no credit", { message: "insufficient_quota" }],
    ["too long, in a 500", { status: 500, message: "the request exceeds the available context size" }],
  ])("is not retried if a retry cannot help: %s", async (_, refusal) => {
    expect(await refuseOnce(refusal)).toMatchObject({ requests: 1, first: expect.any(String) });
  });
});

describe("a provider that stops sending", () => {
  const DISPATCHER = Symbol.for("undici.globalDispatcher.1");
  interface Dispatcher {
    readonly constructor: new (options: {
      readonly bodyTimeout: number;
      readonly headersTimeout: number;
    }) => Dispatcher & { close(): Promise<void> };
  }
  const globals = globalThis as unknown as Record<symbol, Dispatcher>;

  /** The time-outs of `fetch` are five minutes each: here they are half a second. */
  async function hurry(): Promise<void> {
    await fetch("data:,"); // sets the dispatcher
    const usual = globals[DISPATCHER];
    if (usual === undefined) throw new Error("fetch has no dispatcher here");
    const quick = new usual.constructor({ bodyTimeout: 500, headersTimeout: 500 });
    globals[DISPATCHER] = quick;
    onTestFinished(() => {
      globals[DISPATCHER] = usual;
      void quick.close();
    });
  }

  const words = (host: string, code: string): string =>
    `The model server at ${host} sent nothing for several minutes, so the request was given up (${code}). Try again later.`;

  it("fails before its answer, without a retry", async () => {
    await hurry();
    let requests = 0;
    const host = await serve(() => {
      requests += 1;
    });
    expect(await ask(host)).toEqual([{ type: "failed", reason: words(host, "UND_ERR_HEADERS_TIMEOUT") }]);
    expect(requests).toBe(1);
  });

  it("fails in the middle of its answer, and the text stays", async () => {
    await hurry();
    const host = await serve((_, response) => {
      response.writeHead(200, { "content-type": "text/event-stream" });
      for (const event of chatText("Half of")) response.write(eventText(event));
    });
    expect(await ask(host)).toEqual([
      { type: "text", text: "Half of" },
      { type: "failed", reason: words(host, "UND_ERR_BODY_TIMEOUT") },
    ]);
  });
});
