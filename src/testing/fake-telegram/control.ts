import { createServer, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
import { type FakeTelegram, type FakeTelegramOptions, KEEP_ALIVE_MS, startFakeTelegram } from "./server.ts";
import type { FakeControls } from "./types.ts";

export interface ControlServer {
  readonly fake: FakeTelegram;
  /** The URL for tests in another process. */
  readonly controlUrl: string;
  close(): Promise<void>;
}

/** A fake with controls over HTTP. It can outlive the processes that a test kills. */
export async function startControlledTelegram(
  options: FakeTelegramOptions & { readonly controlPort?: number } = {},
): Promise<ControlServer> {
  const fake = await startFakeTelegram(options);
  const server = createServer((request, response) => {
    runControlCall(fake, request).then(
      (result) => response.end(toText({ result })),
      (error: unknown) => response.writeHead(400).end(toText({ error: String(error) })),
    );
  });
  server.keepAliveTimeout = KEEP_ALIVE_MS;
  await new Promise<void>((resolve) => server.listen(options.controlPort ?? 0, "127.0.0.1", resolve));
  return {
    fake,
    controlUrl: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    async close() {
      await fake.close();
      await new Promise<void>((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      });
    },
  };
}

/** Connects to the controls of a fake in another process. */
export async function connectFakeTelegram(controlUrl: string): Promise<Omit<FakeTelegram, "close">> {
  async function tell(account: string | undefined, call: string, args: readonly unknown[]): Promise<unknown> {
    const response = await fetch(controlUrl, { method: "POST", body: toText({ account, call, args }) });
    const answer = fromText(await response.text()) as { readonly result?: unknown; readonly error?: string };
    if (answer.error !== undefined) throw new Error(answer.error);
    return answer.result;
  }
  const controlsOf = (account?: string): FakeControls =>
    new Proxy({} as FakeControls, {
      get: (_, name) =>
        // `await` looks for `then`; the proxy has none.
        typeof name !== "string" || name === "then"
          ? undefined
          : (...args: unknown[]) => tell(account, name, args),
    });
  const { url, token } = (await tell(undefined, "about", [])) as Pick<FakeTelegram, "url" | "token">;
  return new Proxy({ url, token, as: controlsOf } as Omit<FakeTelegram, "close">, {
    get: (own, name) => Reflect.get(name in own ? own : controlsOf(), name),
  });
}

async function runControlCall(fake: FakeTelegram, request: IncomingMessage): Promise<unknown> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  const asked = fromText(Buffer.concat(chunks).toString()) as {
    readonly account?: string;
    readonly call: string;
    readonly args: readonly unknown[];
  };
  if (asked.call === "about") return { url: fake.url, token: fake.token };
  const controls = asked.account === undefined ? fake : fake.as(asked.account);
  const found: unknown = Object.hasOwn(controls, asked.call) ? Reflect.get(controls, asked.call) : undefined;
  if (typeof found !== "function" || asked.call === "as" || asked.call === "close") {
    throw new Error(`There is no ${asked.call} here.`);
  }
  return await found(...asked.args);
}

function toText(value: unknown): string {
  return JSON.stringify(value, (_, inner: unknown) =>
    inner instanceof Uint8Array ? { $bytes: Buffer.from(inner).toString("base64") } : inner,
  );
}

function fromText(text: string): unknown {
  return JSON.parse(text, (_, inner: unknown) =>
    typeof inner === "object" && inner !== null && "$bytes" in inner && typeof inner.$bytes === "string"
      ? new Uint8Array(Buffer.from(inner.$bytes, "base64"))
      : inner,
  ) as unknown;
}
