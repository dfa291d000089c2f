import type { Tool } from "../ports/tool.ts";
import { loadOptional } from "../system/load-optional.ts";

type Check = (args: unknown) => string | undefined;

const checks = new WeakMap<Tool["input"], Promise<Check>>();

/** Describes the error in the arguments of a call, for the model that made it; `undefined` if they are valid. */
export async function checkToolArguments({ input }: Tool, args: unknown): Promise<string | undefined> {
  if (typeof args !== "object" || args === null || Array.isArray(args))
    return "The arguments must be a JSON object.";
  const known = checks.get(input) ?? compileCheck(input);
  checks.set(input, known);
  return (await known)(args);
}

async function compileCheck(schema: Tool["input"]): Promise<Check> {
  const { AjvJsonSchemaValidator } = await loadOptional(
    "@modelcontextprotocol/client",
    "A tool call",
    () => import("@modelcontextprotocol/client/validators/ajv"),
  );
  try {
    // One validator per schema: schemas of different servers may have the same $id.
    const validate = new AjvJsonSchemaValidator().getValidator(schema);
    return (args) => {
      const { valid, errorMessage } = validate(args);
      return valid ? undefined : `The arguments do not fit: ${formatErrorMessage(errorMessage)}.`;
    };
  } catch {
    return () => undefined; // the schema is invalid: the tool itself checks its arguments
  }
}

function formatErrorMessage(message: string): string {
  return message.replaceAll(/\bdata(?=[ /])/g, "arguments");
}
