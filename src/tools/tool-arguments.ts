import { textPart } from "../core/message.ts";
import type { ToolOutput } from "../ports/tool.ts";

/** What a model gave, by name. Its shape was checked against the tool's schema, its worth was not. */
export type ToolArguments = Readonly<Record<string, unknown>>;

export function toToolArguments(value: unknown): ToolArguments {
  return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as ToolArguments) : {};
}

export function readTextArgument(given: ToolArguments, name: string): string | undefined {
  const value = given[name];
  return typeof value === "string" ? value : undefined;
}

/** Only what can be counted with: no NaN, no infinity. */
export function readNumberArgument(given: ToolArguments, name: string): number | undefined {
  const value = given[name];
  return typeof value === "number" && Number.isFinite(value) ? value : undefined;
}

export function readTextListArgument(given: ToolArguments, name: string): readonly string[] {
  const value = given[name];
  return Array.isArray(value) ? value.filter((item) => typeof item === "string") : [];
}

/** What a tool does, and what went wrong in it as an output that has failed. */
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
