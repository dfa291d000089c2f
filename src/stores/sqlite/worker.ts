import module from "node:module";
import { parentPort } from "node:worker_threads";

// Before anything else is loaded, or the cache serves nothing.
module.enableCompileCache();
const { serveWorker } = await import("./serve-worker.ts");
if (parentPort !== null) await serveWorker(parentPort);
