import { readFileSync } from "node:fs";
import { echo } from "../agents/echo.ts";
import { PostriderError } from "../core/errors.ts";
import type { Agent } from "../ports/agent.ts";
import { usageError } from "./cli/command.ts";
import { type ModelSettings, NO_MODEL_HINT, selectModel, selectProviderModel } from "./select-model.ts";

export interface ChosenAgent {
  readonly agent: Agent;
  /** A notice for the person. */
  readonly hint?: string;
}

/** Chooses the agent: `model`, `echo` or `script:FILE`. By default the model, if one is configured. */
export async function chooseAgent(
  name: string | undefined,
  environment: NodeJS.ProcessEnv,
  configured?: ModelSettings,
): Promise<ChosenAgent> {
  if (name === "echo") return { agent: echo };
  const [, file] = /^script:(.+)$/s.exec(name ?? "") ?? [];
  if (file !== undefined) return { agent: await loadScriptAgent(file) };
  if (name !== undefined && name !== "model") {
    throw usageError(
      `Unknown agent "${name}". Use model (asks a model), echo (repeats the message) or script:FILE (answers from a file)`,
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
