import { createServer, type IncomingMessage, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import { expect, it, onTestFinished } from "vitest";
import { fetchModelNames } from "./model-names.ts";

async function serve(listener: RequestListener): Promise<string> {
  const server = createServer(listener);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    return new Promise((resolve) => void server.close(() => resolve()));
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`;
}

it("requests the models from the configured URL, and sends the key to no redirect target", async () => {
  const requests: IncomingMessage["headers"][] = [];
  const models = JSON.stringify({ data: [{ id: "rider-1" }] });
  const other = await serve((request, response) => {
    requests.push(request.headers);
    response.end(models);
  });
  const redirecting = await serve((_, response) => {
    response.writeHead(302, { location: `${other}/models` }).end();
  });
  const never = new AbortController().signal;
  const choice = { provider: "anthropic", model: "rider-1", apiKey: "sk-own" } as const;
  expect(await fetchModelNames({ ...choice, baseUrl: redirecting }, never)).toEqual([]);
  expect(requests).toEqual([]);
  expect(await fetchModelNames({ ...choice, baseUrl: other }, never)).toEqual(["rider-1"]);
  expect(requests).toMatchObject([{ "x-api-key": "sk-own" }]);
});
