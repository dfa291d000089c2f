import module from "node:module";

// Before any other module is loaded, or the compile cache has no effect.
module.enableCompileCache();
const { serveWorker } = await import("./serve-worker.ts");
await serveWorker();
