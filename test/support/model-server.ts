import { onTestFinished } from "vitest";
import { type ModelServer, type Reply, startModelServer } from "./model-endpoint.ts";

export type { Asked, ModelServer, Reply } from "./model-endpoint.ts";

/** The same for a test: it is gone when the test is over. */
export async function modelServer(...replies: readonly Reply[]): Promise<ModelServer> {
  const server = await startModelServer(...replies);
  onTestFinished(() => server.close());
  return server;
}
