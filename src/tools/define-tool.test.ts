import { describe, expect, it } from "vitest";
import { z } from "zod";
import { defineTool } from "./define-tool.ts";

const CALL = { id: "c1", signal: new AbortController().signal };

describe("a defined tool", () => {
  it("accepts a Zod schema: the model gets it as JSON schema, and run gets typed values", async () => {
    const tool = defineTool({
      name: "add",
      description: "Adds two numbers.",
      input: z.object({ a: z.number(), b: z.number().default(1) }),
      effect: "none",
      run: ({ a, b }) => `${(a + b).toFixed(1)}`,
    });
    expect(tool).toMatchObject({ name: "add", description: "Adds two numbers.", effect: "none" });
    expect(tool.input).toMatchObject({
      type: "object",
      properties: { a: { type: "number" } },
      required: ["a"],
    });
    expect(await tool.run({ a: 2 }, CALL)).toEqual({ parts: [{ type: "text", text: "3.0" }] });
    await expect(tool.run({ a: "two" }, CALL)).rejects.toMatchObject({
      code: "invalid_input",
      message: expect.stringMatching(/^The arguments do not fit: .+\.$/),
    });
  });

  it("passes a JSON schema to the model unchanged", async () => {
    const input = { type: "object", properties: { city: { type: "string" } } };
    const tool = defineTool({
      name: "weather",
      description: "Tells the weather.",
      input,
      run: ({ city }) => ({ parts: [{ type: "text", text: String(city) }], failed: true }),
    });
    expect(tool.input).toEqual(input);
    expect(await tool.run({ city: "Oslo" }, CALL)).toMatchObject({ failed: true });
  });

  it("has an external effect and needs no approval by default", async () => {
    const plain = defineTool({ name: "x", description: "", input: { type: "object" }, run: () => "" });
    expect(plain.effect).toBe("external");
    expect(plain.buildApprovalRequest).toBeUndefined();
    expect(plain.audience).toBeUndefined();
    const asks = defineTool({
      name: "pay",
      description: "Pays.",
      input: z.object({ euros: z.coerce.number() }),
      approval: ({ euros }) => (euros > 10 ? { title: `Pay ${euros} euros?` } : undefined),
      run: () => "paid",
    });
    expect(await asks.buildApprovalRequest?.({ euros: "11" })).toEqual({ title: "Pay 11 euros?" });
    expect(await asks.buildApprovalRequest?.({ euros: 2 })).toBeUndefined();
  });

  it("has a name that every provider accepts", () => {
    const define = (name: string) => () =>
      defineTool({ name, description: "", input: { type: "object" }, run: () => "" });
    for (const name of ["", "a b", "ä", "x".repeat(65)]) expect(define(name)).toThrow(/A tool's name/);
    expect(define("read-File_2")).not.toThrow();
  });
});
