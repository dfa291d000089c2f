import { readFileSync } from "node:fs";
import { echo } from "../agents/echo.ts";
import { PostriderError } from "../core/errors.ts";
import type { PluginAgent } from "../gateway/plugin.ts";
import type { Agent } from "../ports/agent.ts";
import type { Log } from "../ports/log.ts";
import { usageError } from "./cli/command.ts";
import { type ModelSettings, NO_MODEL_HINT, selectModel, selectProviderModel } from "./select-model.ts";

export interface ChosenAgent {
  readonly agent: Agent;
  /** A notice for the person. */
  readonly hint?: string;
}

/**
 * Chooses the agent: `model`, `echo`, `script:FILE`, `./FILE.ts` (a module) or the agent of a plugin. By default the model,
 * if one is configured.
 */
export async function chooseAgent(
  name: string | undefined,
  environment: NodeJS.ProcessEnv,
  configured?: ModelSettings,
  agents: ReadonlyMap<string, PluginAgent> = new Map(),
): Promise<ChosenAgent> {
  if (name === "echo") return { agent: echo };
  const [, file] = /^script:(.+)$/s.exec(name ?? "") ?? [];
  if (file !== undefined) return { agent: await loadScriptAgent(file) };
  if (name !== undefined && /^(?:\.{1,2}|~)?\//.test(name)) {
    const { loadAgentFile } = await import("./plugins/load-agent-file.ts");
    return { agent: await loadAgentFile(name, { environment, log: SILENT }) };
  }
  const create = agents.get(name ?? "");
  if (create !== undefined) return { agent: await create({ environment, log: SILENT }) };
  if (name !== undefined && name !== "model") {
    const names = [...agents.keys()].map((agent) => `${agent} is a plugin's, `).join("");
    throw usageError(
      `Unknown agent "${name}". Use model (asks a model), echo (repeats the message), ${names}script:FILE (answers from a file) or ./FILE.ts (a module)`,
    );
  }
  const choice = selectModel(environment, configured);
  if (choice !== undefined) {
    const { model } = await import("../agents/model/model.ts");
    return {
      agent: model(choice, { other: (provider) => selectProviderModel(provider, environment, configured) }),
    };
  }
  if (name === "model")
    throw new PostriderError("invalid_config", NO_MODEL_HINT.replace(", so I repeat your messages", ""));
  return { agent: echo, hint: NO_MODEL_HINT };
}

async function loadScriptAgent(file: string): Promise<Agent> {
  const { script } = await import("../agents/script.ts");
  try {
    return script(JSON.parse(readFileSync(file, "utf8")));
  } catch (error) {
    const { message } = error as Error;
    throw new PostriderError("invalid_config", `Cannot use the script ${file}: ${message}`, {
      cause: error,
    });
  }
}

const ignore = (): void => {};
const SILENT: Log = { debug: ignore, info: ignore, warn: ignore, error: ignore };
