import { createServer, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import { describe, expect, it, onTestFinished } from "vitest";
import { placeIn } from "../../../test/support/telegram.ts";
import { textPart } from "../../core/message.ts";
import type { SendOutcome } from "../../ports/platform.ts";
import { telegram } from "./platform.ts";

const TOKEN = "42:AAE-token-of-a-test";

async function serve(listener: RequestListener): Promise<string> {
  const server = createServer(listener);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    return new Promise((resolve) => void server.close(() => resolve()));
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

function send(apiRoot: string): Promise<SendOutcome> {
  const out = { target: placeIn(7), parts: [textPart("hello")], nonce: "1", blob: async () => undefined };
  return telegram({ token: TOKEN, apiRoot }).send(out, new AbortController().signal);
}

describe("a proxy between the bot and Telegram", () => {
  it.each([
    [504, "unknown"],
    [502, "not_sent"],
  ])("that answers with a page and status %i leaves a message %s", async (status, state) => {
    const proxy = await serve((_, response) => response.writeHead(status).end("<html>"));
    expect(await send(proxy)).toMatchObject({ state });
  });

  it("that redirects the bot does not get the token at the new address", async () => {
    const asked: (string | undefined)[] = [];
    const other = await serve((request, response) => {
      asked.push(request.url);
      response.end(JSON.stringify({ ok: true, result: { message_id: 1 } }));
    });
    const proxy = await serve((request, response) =>
      response.writeHead(307, { location: `${other}${request.url}` }).end(),
    );
    expect((await send(proxy)).state).not.toBe("sent");
    expect(asked).toEqual([]);
  });
});
