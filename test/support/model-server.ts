import { onTestFinished } from "vitest";
import { type ModelServer, type Reply, startModelServer } from "./model-endpoint.ts";

export type { Asked, ModelServer, Reply } from "./model-endpoint.ts";

/** Starts a model endpoint that closes with the test. */
export async function modelServer(...replies: readonly Reply[]): Promise<ModelServer> {
  const server = await startModelServer(...replies);
  onTestFinished(() => server.close());
  return server;
}
