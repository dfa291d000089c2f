import module from "node:module";

/* The process keeper of a home: node keeper.js HOME. */
// Before any other module is loaded, or the compile cache has no effect.
module.enableCompileCache();
const { keepHome } = await import("./keep-home.ts");
// At once: a keeper that is killed would leave nothing compiled to the next.
module.flushCompileCache();
await keepHome(process.argv[2] ?? "");
