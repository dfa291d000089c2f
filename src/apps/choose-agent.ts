import { readFileSync } from "node:fs";
import { echo } from "../agents/echo.ts";
import { PostriderError } from "../core/errors.ts";
import type { Agent } from "../ports/agent.ts";
import { usageError } from "./cli/command.ts";
import { type ModelSettings, NO_MODEL_HINT, selectModel, selectProviderModel } from "./select-model.ts";

export interface ChosenAgent {
  readonly agent: Agent;
  /** What the person should know about it. */
  readonly hint?: string;
}

/**
 * Who answers: `model`, the one that the environment or the configuration names; `echo`; or `script:FILE` with answers
 * from a file. Unless said, the model if there is one.
 */
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
      `There is no agent "${name}": model asks a model, echo repeats, script:FILE answers from a file`,
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
    throw new PostriderError("invalid_config", NO_MODEL_HINT.replace(/, so I repeat[^.]*/, ""));
  return { agent: echo, hint: NO_MODEL_HINT };
}

async function loadScriptAgent(file: string): Promise<Agent> {
  const { script } = await import("../agents/script.ts");
  try {
    return script(JSON.parse(readFileSync(file, "utf8")));
  } catch (error) {
    const { message } = error as Error;
    throw new PostriderError("invalid_config", `The script ${file} cannot be used: ${message}`, {
      cause: error,
    });
  }
}
