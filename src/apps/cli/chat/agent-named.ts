import { readFileSync } from "node:fs";
import { echo } from "../../../agents/echo.ts";
import { script } from "../../../agents/script.ts";
import { PostriderError } from "../../../core/errors.ts";
import type { Agent } from "../../../ports/agent.ts";
import { wrongArguments } from "../command.ts";

/** Who answers: `echo`, or `script:FILE` with answers from a file. */
export function agentNamed(name: string): Agent {
  if (name === "echo") return echo;
  const [, file] = /^script:(.+)$/s.exec(name) ?? [];
  if (file !== undefined) return scriptFrom(file);
  throw wrongArguments(`There is no agent "${name}": echo repeats, script:FILE answers from a file`);
}

function scriptFrom(file: string): Agent {
  try {
    return script(JSON.parse(readFileSync(file, "utf8")));
  } catch (error) {
    const { message } = error as Error;
    throw new PostriderError("invalid_config", `The script ${file} cannot be used: ${message}`, {
      cause: error,
    });
  }
}
