// In this clone, "postrider/..." is the source itself. An application that has installed the package needs none of this.
import { registerHooks } from "node:module";

registerHooks({
  resolve(name, context, next) {
    const [, entry] = /^postrider(?:\/(.+))?$/s.exec(name) ?? [];
    if (name !== "postrider" && entry === undefined) return next(name, context);
    if (entry === "package.json") return next(new URL("../package.json", import.meta.url).href, context);
    const file =
      entry === undefined ? "index.ts" : entry === "testing" ? "testing/index.ts" : `entries/${entry}.ts`;
    return { url: new URL(`../src/${file}`, import.meta.url).href, shortCircuit: true };
  },
});
