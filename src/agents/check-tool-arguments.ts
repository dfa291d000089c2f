import type { Tool } from "../ports/tool.ts";
import { loadOptional } from "../system/load-optional.ts";

type Check = (given: unknown) => string | undefined;

const checks = new WeakMap<Tool["input"], Promise<Check>>();

/** What is wrong with the arguments of a call, in words for the model that made it; nothing if they fit. */
export async function checkToolArguments({ input }: Tool, given: unknown): Promise<string | undefined> {
  if (typeof given !== "object" || given === null || Array.isArray(given))
    return "The arguments must be a JSON object.";
  const known = checks.get(input) ?? compileCheck(input);
  checks.set(input, known);
  return (await known)(given);
}

async function compileCheck(schema: Tool["input"]): Promise<Check> {
  const { AjvJsonSchemaValidator } = await loadOptional(
    "@modelcontextprotocol/client",
    "A tool call",
    () => import("@modelcontextprotocol/client/validators/ajv"),
  );
  try {
    // One for each schema: those of different servers may bear the same $id.
    const fits = new AjvJsonSchemaValidator().getValidator(schema);
    return (given) => {
      const { valid, errorMessage } = fits(given);
      return valid ? undefined : `The arguments do not fit: ${formatErrorMessage(errorMessage)}.`;
    };
  } catch {
    return () => undefined; // a schema that nobody understands: the tool itself looks at what it is given
  }
}

function formatErrorMessage(message: string): string {
  return message.replaceAll(/\bdata(?=[ /])/g, "arguments");
}
