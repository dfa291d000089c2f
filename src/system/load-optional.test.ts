import { createRequire } from "node:module";
import { describe, expect, it } from "vitest";
import { explainMissingPackage, loadOptional, requireOptional } from "./load-optional.ts";

/** The error of Node for a missing package. */
function notFound(name: string, code = "ERR_MODULE_NOT_FOUND"): Error {
  const message = `Cannot find package '${name}' imported from /app/index.js`;
  return Object.assign(new Error(message), { code });
}

describe("an optional package", () => {
  it("is loaded when it is installed", async () => {
    expect(await loadOptional("yaml", "The configuration", () => import("yaml"))).toHaveProperty("parse");
  });

  it("names itself and the command that installs it when it is missing", async () => {
    const load = () => Promise.reject(notFound("@ai-sdk/openai"));
    await expect(loadOptional("@ai-sdk/openai", "OpenAI", load)).rejects.toMatchObject({
      code: "missing_package",
      message:
        "OpenAI needs the package @ai-sdk/openai, which is not installed. Install it beside postrider: npm install @ai-sdk/openai",
      details: { package: "@ai-sdk/openai" },
    });
  });

  it("is recognised by a module inside of it", async () => {
    const load = () => Promise.reject(notFound("ai/test"));
    await expect(loadOptional("ai", "A model", load)).rejects.toMatchObject({ code: "missing_package" });
  });

  it("can be required, too", () => {
    const require = createRequire(import.meta.url);
    const name = "postrider-has-no-such-package";
    expect(() => requireOptional(name, "This test", require)).toThrow(
      `This test needs the package ${name}, which is not installed.`,
    );
  });

  it("does not hide that another package or a file is missing", async () => {
    const other = notFound("other");
    await expect(loadOptional("yaml", "It", () => Promise.reject(other))).rejects.toBe(other);
    const file = notFound("/app/missing.js");
    expect(explainMissingPackage(file, "It")).toBe(file);
    const text = new Error("no");
    expect(explainMissingPackage(text, "It")).toBe(text);
    expect(explainMissingPackage(notFound("pino"), "It")).toMatchObject({ code: "missing_package" });
  });
});
