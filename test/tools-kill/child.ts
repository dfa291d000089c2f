/** A gateway as a process of its own whose agent works with real tools. It also prints every history that it is given. */
import { readFileSync } from "node:fs";
import { enableCompileCache, flushCompileCache } from "node:module";
import type { ChildOptions } from "../gateway/gateway-process.ts";

enableCompileCache();
const { runGateway } = await import("../gateway/gateway-process.ts");
const { withHands } = await import("./with-hands.ts");
flushCompileCache();
// A script of many errands is longer than an argument may be.
await runGateway(JSON.parse(readFileSync(process.argv[2] ?? "", "utf8")) as ChildOptions, withHands);
