// In this clone, "postrider" is the source itself. A program that has installed the package needs none of this.
import { registerHooks } from "node:module";

const SOURCES = { postrider: "../src/index.ts", "postrider/testing": "../src/testing/index.ts" };

registerHooks({
  resolve(name, context, next) {
    if (!Object.hasOwn(SOURCES, name)) return next(name, context);
    return { url: new URL(SOURCES[name], import.meta.url).href, shortCircuit: true };
  },
});
