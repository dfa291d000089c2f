/** A gateway in a separate process, with a real database, that can crash at a chosen point. */
import { enableCompileCache, flushCompileCache } from "node:module";
import type { ChildOptions } from "./gateway-process.ts";

// Many of these are started, and most are killed before they can write their compile cache.
enableCompileCache();
const { runGateway } = await import("./gateway-process.ts");
flushCompileCache();
await runGateway(JSON.parse(process.argv[2] ?? "{}") as ChildOptions);
