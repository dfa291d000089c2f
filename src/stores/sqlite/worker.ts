import module from "node:module";
import { parentPort } from "node:worker_threads";

// Before anything else is loaded, or the cache serves nothing.
module.enableCompileCache();
const { serve } = await import("./thread.ts");
if (parentPort !== null) serve(parentPort);
