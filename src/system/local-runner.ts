import { hostname } from "node:os";
import type { Runner } from "../core/runner.ts";
import { getBootId, readStartTicks } from "./process-identity.ts";

/** This process as a runner, under a new id. */
export function localRunner(): Runner {
  return {
    id: crypto.randomUUID(),
    host: hostname(),
    boot: getBootId(),
    pid: process.pid,
    started: readStartTicks(process.pid) ?? "",
  };
}
