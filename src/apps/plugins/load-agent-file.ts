import { PostriderError } from "../../core/errors.ts";
import type { PluginHost } from "../../gateway/plugin.ts";
import type { Agent } from "../../ports/agent.ts";
import { importTrusted } from "./import-trusted.ts";
import { toSentence } from "./load-plugins.ts";

/** An agent from a module that exports it, or a function that returns it, as `default` or `agent`. */
export async function loadAgentFile(file: string, host: PluginHost): Promise<Agent> {
  try {
    const module = await importTrusted(file, process.cwd());
    const found = module.default ?? module.agent;
    const agent: unknown = typeof found === "function" ? await found(host) : found;
    if (isAgent(agent)) return agent;
    throw new Error("It exports no agent: export const agent = { name, run }.");
  } catch (error) {
    throw new PostriderError("invalid_config", `The agent ${file} cannot be used: ${toSentence(error)}`, {
      cause: error,
    });
  }
}

export function isAgent(value: unknown): value is Agent {
  if (typeof value !== "object" || value === null) return false;
  return (
    "name" in value && typeof value.name === "string" && "run" in value && typeof value.run === "function"
  );
}
