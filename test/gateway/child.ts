/** A gateway as a process of its own, on a real database, that can be made to fall at a chosen point. */
import { enableCompileCache, flushCompileCache } from "node:module";
import type { ChildOptions } from "./gateway-process.ts";

// Many of these are started, and most are killed before they could leave their compiled code to the next.
enableCompileCache();
const { runGateway } = await import("./gateway-process.ts");
flushCompileCache();
await runGateway(JSON.parse(process.argv[2] ?? "{}") as ChildOptions);
