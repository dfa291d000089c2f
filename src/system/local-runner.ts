import { hostname } from "node:os";
import type { Runner } from "../core/runner.ts";
import { bootId, startTicks } from "./process-identity.ts";

/** This process as a runner, under a new id. */
export function localRunner(): Runner {
  return {
    id: crypto.randomUUID(),
    host: hostname(),
    boot: bootId(),
    pid: process.pid,
    started: startTicks(process.pid) ?? "",
  };
}
