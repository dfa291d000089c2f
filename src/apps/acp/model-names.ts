import type { Agent } from "../../ports/agent.ts";
import type { Log } from "../../ports/log.ts";

/** The models that may be chosen, as far as their names are known. */
export interface ModelNames {
  known(): readonly string[];
  /** Asks for them, once at a time, until there is an answer. Resolves in any case. */
  learn(): Promise<void>;
}

export function modelNames(
  answering: () => Agent | undefined,
  { log, signal }: { readonly log: Log; readonly signal: AbortSignal },
): ModelNames {
  let names: readonly string[] = [];
  let asking: Promise<void> | undefined;

  async function ask(agent: Agent): Promise<void> {
    try {
      names = (await agent.models?.(signal)) ?? [];
    } catch (error) {
      log.warn({ error }, "the models are not known");
    } finally {
      asking = undefined;
    }
  }

  return {
    known: () => names,
    async learn() {
      const agent = answering();
      if (agent?.models === undefined || names.length > 0) return;
      asking ??= ask(agent);
      await asking;
    },
  };
}
