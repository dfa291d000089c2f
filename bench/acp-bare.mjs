// The least that speaks the protocol with the same library: what a start of Postrider is held against. Plain JavaScript
// with Node's compile cache, as the built package is.
import { enableCompileCache } from "node:module";
import { Readable, Writable } from "node:stream";

enableCompileCache();
const { agent, methods, ndJsonStream, PROTOCOL_VERSION } = await import("@agentclientprotocol/sdk/unstable");

let sessions = 0;
const app = agent({ name: "bare" })
  .onRequest(methods.agent.initialize, () => ({
    protocolVersion: PROTOCOL_VERSION,
    agentInfo: { name: "bare", version: "0.0.0" },
    agentCapabilities: {},
  }))
  .onRequest(methods.agent.session.new, () => {
    sessions += 1;
    return { sessionId: String(sessions) };
  })
  .onRequest(methods.agent.session.prompt, async ({ params: { sessionId, prompt }, client }) => {
    for (const content of prompt) {
      const update = { sessionUpdate: "agent_message_chunk", content };
      await client.notify(methods.client.session.update, { sessionId, update });
    }
    return { stopReason: "end_turn" };
  });
const connection = app.connect(ndJsonStream(Writable.toWeb(process.stdout), Readable.toWeb(process.stdin)));
await connection.closed;
