import { once } from "node:events";
import { createServer, type RequestListener } from "node:http";
import { createServer as createSecureServer } from "node:https";
import type { AddressInfo } from "node:net";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { PROVIDER_FAILURES } from "../../../test/support/provider-failures.ts";
import { UNTRUSTED_CERTIFICATE, UNTRUSTED_KEY } from "../../../test/support/untrusted-certificate.ts";
import { textPart } from "../../core/message.ts";
import type { AgentEvent, AgentTurn } from "../../ports/agent.ts";
import { model } from "./model.ts";
import type { ModelChoice } from "./provider.ts";

const SECRET = "sk-very-secret-key";
const hello: AgentTurn = {
  session: "s",
  history: [{ session: "s", seq: 1, at: 0, role: "user", parts: [textPart("hello")] }],
  blob: async () => undefined,
};

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

async function ask(
  host: string,
  choice: Partial<ModelChoice> = {},
  retries = 0,
  turn: AgentTurn = hello,
): Promise<AgentEvent[]> {
  const agent = model(
    { provider: "compatible", model: "tiny", apiKey: SECRET, baseUrl: `http://${host}/v1`, ...choice },
    { retries },
  );
  const found: AgentEvent[] = [];
  for await (const event of agent.run(turn, new AbortController().signal)) found.push(event);
  return found;
}

describe("a provider that fails", () => {
  it.each(PROVIDER_FAILURES.map((failure) => [failure.provider, failure.title, failure] as const))(
    "%s: %s",
    async (provider, _, { status, headers, body, words, tooLong, model: name = "m" }) => {
      const host = await serve((_, response) => {
        response.writeHead(status, { "content-type": "application/json", ...headers });
        response.end(typeof body === "string" ? body : JSON.stringify(body));
      });
      expect(await ask(host, { provider, model: name })).toEqual([
        { type: "failed", reason: words.replaceAll("HOST", host), ...(tooLong && { tooLong }) },
      ]);
    },
  );

  it("is named without a host if its URL is not configured", async () => {
    const { formatModelFailure: failureWords } = await import("./failure.ts");
    const own = { provider: "openai", model: "m", apiKey: SECRET } as const;
    const words = [{ statusCode: 529 }, { statusCode: 404 }, { statusCode: 402 }].map((e) =>
      failureWords(e, own),
    );
    expect(words).toEqual([
      "OpenAI is overloaded (529). Try again in a few minutes.",
      "OpenAI has no model API at this address (404). Check whether a proxy answers in its place.",
      "OpenAI reports that the account has no credit left (402). Add credit there, or choose another model with /model.",
    ]);
  });

  it("is quoted in one short line, without anything that looks like a key", async () => {
    const host = await serve((_, response) => {
      response.writeHead(418);
      const message = `Bad\nkey ${SECRET} or sk-proj-abcdefghij\u001b[31m ${"x".repeat(9000)}`;
      response.end(JSON.stringify({ error: { message } }));
    });
    const [failed] = await ask(host);
    const reason = failed?.type === "failed" ? failed.reason : "";
    expect(reason).toMatch(
      /^The model server at \S+ rejected the request \(418\): "Bad key \[secret\] or \[secret\]␛\[31m x+…"\.$/,
    );
    expect(reason.length).toBeLessThan(300);
  });

  it("is named without the user and the path of its URL", async () => {
    const host = await serve((_, response) => response.writeHead(404).end("{}"));
    const [failed] = await ask(host, { baseUrl: `http://${host}/path-with-token/v1` });
    expect(JSON.stringify(failed)).not.toContain("path-with-token");
  });

  it("cannot be used without a key that it always needs", async () => {
    vi.stubEnv("OPENAI_API_KEY", undefined);
    onTestFinished(() => void vi.unstubAllEnvs());
    const agent = model({ provider: "openai", model: "gpt-x" }, { retries: 0 });
    const found: AgentEvent[] = [];
    for await (const event of agent.run(hello, new AbortController().signal)) found.push(event);
    expect(found).toEqual([
      {
        type: "failed",
        reason:
          "There is no key for openai: set OPENAI_API_KEY and start again, or choose another with /model.",
      },
    ]);
  });

  it("is reported as asking for a key if none is configured", async () => {
    const host = await serve((_, response) => response.writeHead(401).end("{}"));
    const agent = model(
      { provider: "compatible", model: "tiny", baseUrl: `http://${host}/v1` },
      { retries: 0 },
    );
    const found: AgentEvent[] = [];
    for await (const event of agent.run(hello, new AbortController().signal)) found.push(event);
    expect(found).toEqual([
      {
        type: "failed",
        reason: `The model server at ${host} asks for an API key (401). Set POSTRIDER_API_KEY or model.api_key and start Postrider again.`,
      },
    ]);
  });
});

describe("a provider that cannot be reached", () => {
  async function closedPort(): Promise<string> {
    const server = createServer().listen(0, "127.0.0.1");
    await once(server, "listening");
    const { port } = server.address() as AddressInfo;
    await new Promise((resolve) => server.close(resolve));
    return `127.0.0.1:${port}`;
  }

  it("is reported after a refused connection", async () => {
    const host = await closedPort();
    expect(await ask(host)).toEqual([
      {
        type: "failed",
        reason: `The model server at ${host} refused the connection (ECONNREFUSED). Check that it runs, and POSTRIDER_BASE_URL or model.base_url.`,
      },
    ]);
  });

  it("is reported for a host name that does not exist", async () => {
    expect(await ask("nobody.invalid", { provider: "openai" })).toEqual([
      {
        type: "failed",
        reason: expect.stringMatching(
          /^OpenAI at nobody\.invalid was not found: its host name has no address \((ENOTFOUND|EAI_AGAIN)\)\. Check the network, and POSTRIDER_BASE_URL or model\.base_url\.$/,
        ),
      },
    ]);
  });

  it("is reported if it does not support TLS", async () => {
    const host = await serve((_, response) => response.end());
    expect(await ask(host, { baseUrl: `https://${host}/v1` }, 2)).toEqual([
      {
        type: "failed",
        reason: `No secure connection to the model server at ${host} (ERR_SSL_WRONG_VERSION_NUMBER). Check POSTRIDER_BASE_URL or model.base_url: a server without TLS has an address that starts with http://.`,
      },
    ]);
  });

  it("is reported for an untrusted certificate", async () => {
    const server = createSecureServer({ cert: UNTRUSTED_CERTIFICATE, key: UNTRUSTED_KEY });
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    onTestFinished(() => void server.close());
    const host = `127.0.0.1:${(server.address() as AddressInfo).port}`;
    expect(await ask(host, { baseUrl: `https://${host}/v1` }, 2)).toEqual([
      {
        type: "failed",
        reason: `The certificate of the model server at ${host} is not trusted (DEPTH_ZERO_SELF_SIGNED_CERT). Check the address and the clock; NODE_EXTRA_CA_CERTS names a file with your own certificate authority.`,
      },
    ]);
  });
});
