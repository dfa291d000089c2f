/** A gateway in a separate process whose agent uses real tools. It also prints every history that the agent gets. */
import { readFileSync } from "node:fs";
import { enableCompileCache, flushCompileCache } from "node:module";
import type { ChildOptions } from "../gateway/gateway-process.ts";

enableCompileCache();
const { runGateway } = await import("../gateway/gateway-process.ts");
const { printInput } = await import("./print-input.ts");
flushCompileCache();
// A script of many errands is too long for an argument.
await runGateway(JSON.parse(readFileSync(process.argv[2] ?? "", "utf8")) as ChildOptions, printInput);
