import module from "node:module";
import { parentPort } from "node:worker_threads";

// Before any other module is loaded, or the compile cache has no effect.
module.enableCompileCache();
const { serveWorker } = await import("./serve-worker.ts");
if (parentPort !== null) await serveWorker(parentPort);
