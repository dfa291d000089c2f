import { prepareServerFolder, removeServerFolder } from "./postgres-server.ts";

/** The global setup of Vitest: the PostgreSQL server of a run starts when a test needs it, and ends with the run. */
export function setup(): (() => Promise<void>) | undefined {
  if (process.env.POSTRIDER_TEST_POSTGRES_FOLDER !== undefined) return undefined; // by another project of this run
  const folder = prepareServerFolder();
  return () => removeServerFolder(folder);
}
