import { hostname } from "node:os";
import type { Runner } from "../core/runner.ts";
import { getPidScope, readStartTicks } from "./process-identity.ts";

/** This process as a runner, under a new id. */
export function localRunner(): Runner {
  return {
    id: crypto.randomUUID(),
    host: hostname(),
    boot: getPidScope(),
    pid: process.pid,
    started: readStartTicks(process.pid) ?? "",
  };
}
