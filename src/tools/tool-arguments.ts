import { textPart } from "../core/message.ts";
import type { ToolOutput } from "../ports/tool.ts";

/** The arguments of a model, by name. The schema was checked, the values were not. */
export type ToolArguments = Readonly<Record<string, unknown>>;

export function toToolArguments(value: unknown): ToolArguments {
  return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as ToolArguments) : {};
}

export function readTextArgument(given: ToolArguments, name: string): string | undefined {
  const value = given[name];
  return typeof value === "string" ? value : undefined;
}

/** A finite number. */
export function readNumberArgument(given: ToolArguments, name: string): number | undefined {
  const value = given[name];
  return typeof value === "number" && Number.isFinite(value) ? value : undefined;
}

export function readTextListArgument(given: ToolArguments, name: string): readonly string[] {
  const value = given[name];
  return Array.isArray(value) ? value.filter((item) => typeof item === "string") : [];
}

/** Runs a tool and turns an error into a failed output. */
export async function runToolAction(
  act: () => Promise<ToolOutput>,
  wrong: (sentence: string) => ToolOutput = createFailedOutput,
): Promise<ToolOutput> {
  try {
    return await act();
  } catch (error) {
    return wrong(error instanceof Error ? error.message : String(error));
  }
}

export function createFailedOutput(sentence: string): ToolOutput {
  return { parts: [textPart(sentence)], failed: true };
}
