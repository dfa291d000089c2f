import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { expect, it, onTestFinished } from "vitest";
import { textPart } from "../../core/message.ts";
import { model } from "./model.ts";
import type { ProviderName } from "./provider.ts";

it.each<[ProviderName, string]>([
  ["anthropic", "/v1/messages"],
  ["openai", "/v1/responses"],
  ["openrouter", "/v1/chat/completions"],
  ["compatible", "/v1/chat/completions"],
])("sends requests for %s to the configured URL", async (provider, path) => {
  const paths: (string | undefined)[] = [];
  const server = createServer((request, response) => {
    paths.push(request.url);
    response.writeHead(400, { "content-type": "application/json" }).end("{}");
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    return new Promise((resolve) => void server.close(() => resolve()));
  });
  const baseUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`;
  const agent = model({ provider, model: "rider-1", apiKey: "sk-own", baseUrl }, { retries: 0 });
  const message = { session: "s", seq: 1, at: 0, role: "user", parts: [textPart("hello")] } as const;
  const turn = { session: "s", history: [message], blob: async () => undefined };
  for await (const _ of agent.run(turn, new AbortController().signal)) {
    // Only the URL of the request counts here.
  }
  expect(paths).toEqual([path]);
});
