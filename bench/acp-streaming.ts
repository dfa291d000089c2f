import { Readable, Writable } from "node:stream";
import {
  agent as agentApp,
  methods,
  ndJsonStream,
  PROTOCOL_VERSION,
} from "@agentclientprotocol/sdk/unstable";
import { serveEditor } from "../src/apps/acp/serve-editor.ts";
import { openConfig } from "../src/apps/config/open-config.ts";
import { makeHome, resolveHome } from "../src/apps/home.ts";
import type { OpenLog } from "../src/apps/log/open-log.ts";
import type { Agent } from "../src/ports/agent.ts";

/**
 * An agent that writes the time into each piece of its answer, by a clock that all processes of the machine share:
 * `postrider` puts it behind Postrider, `bare` behind the protocol's library alone. COUNT pieces, one every MS.
 */
const [subject, count, everyMs] = process.argv.slice(2);

async function* stamps(): AsyncGenerator<string> {
  for (let piece = 0; piece < Number(count); piece += 1) {
    if (Number(everyMs) > 0) await new Promise((resolve) => setTimeout(resolve, Number(everyMs)));
    yield `${process.hrtime.bigint()} `;
  }
}

if (subject === "bare") await bare();
else await postrider();

async function bare(): Promise<void> {
  const app = agentApp({ name: "bare" })
    .onRequest(methods.agent.initialize, () => ({ protocolVersion: PROTOCOL_VERSION }))
    .onRequest(methods.agent.session.new, () => ({ sessionId: "1" }))
    .onRequest(methods.agent.session.prompt, async ({ params: { sessionId }, client }) => {
      for await (const text of stamps()) {
        const update = { sessionUpdate: "agent_message_chunk", content: { type: "text", text } } as const;
        await client.notify(methods.client.session.update, { sessionId, update });
      }
      return { stopReason: "end_turn" };
    });
  const input = Readable.toWeb(process.stdin) as unknown as ReadableStream<Uint8Array>;
  const output = Writable.toWeb(process.stdout) as WritableStream<Uint8Array>;
  await app.connect(ndJsonStream(output, input)).closed;
}

async function postrider(): Promise<void> {
  const { env: environment } = process;
  const home = resolveHome(environment);
  makeHome(home);
  const config = openConfig({ home, cwd: home.folder, environment, notice() {} });
  const quiet = (): void => {};
  const log: OpenLog = {
    debug: quiet,
    info: quiet,
    warn: (_, words) => process.stderr.write(`${words}\n`),
    error: (_, words) => process.stderr.write(`${words}\n`),
    addSecrets: quiet,
    level: quiet,
    close: quiet,
  };
  const agent: Agent = {
    name: "stamps",
    async *run() {
      for await (const text of stamps()) yield { type: "text", text };
    },
  };
  await serveEditor({
    home,
    environment,
    version: "0.0.0",
    log,
    config,
    agent: async () => agent,
    howToConnect: "",
    all: false,
    input: process.stdin,
    output: process.stdout,
    signal: new AbortController().signal,
  });
  config.close();
}
