import type {
  SessionConfigOption,
  SessionConfigSelectOption,
  SessionModeState,
} from "@agentclientprotocol/sdk/unstable";
import {
  APPROVAL_MODES,
  type ApprovalMode,
  type ConversationSettings,
  REASONING,
  type Reasoning,
  type SettingsChange,
} from "../../core/conversation.ts";
import { PostriderError } from "../../core/errors.ts";
import { isModelName } from "../../core/model-name.ts";

/** The answer to approval requests in each mode. */
const MODES: Readonly<Record<ApprovalMode, { readonly name: string; readonly description: string }>> = {
  ask: { name: "Ask", description: "Asks you before the agent changes anything." },
  allow: { name: "Allow", description: "Allows every action of the agent without a question." },
  deny: { name: "Deny", description: "Denies every action that changes something, without a question." },
};

/** The value of an option that was not set: the configuration applies. */
const DEFAULT = "default";

export function buildModes({ approvals = "ask" }: ConversationSettings): SessionModeState {
  return { currentModeId: approvals, availableModes: APPROVAL_MODES.map((id) => ({ id, ...MODES[id] })) };
}

/** The options of a thread with their current values. */
export function buildConfigOptions(
  chosen: ConversationSettings,
  agent: { readonly name: string; readonly models: Iterable<string> },
): SessionConfigOption[] {
  const models = new Set([...agent.models, ...(chosen.model === undefined ? [] : [chosen.model])]);
  models.delete(DEFAULT);
  return [
    {
      id: "mode",
      name: "Approvals",
      category: "mode",
      type: "select",
      currentValue: chosen.approvals ?? "ask",
      options: APPROVAL_MODES.map((value) => ({ value, ...MODES[value] })),
    },
    {
      id: "model",
      name: "Model",
      category: "model",
      type: "select",
      currentValue: chosen.model ?? DEFAULT,
      options: [{ value: DEFAULT, name: `${agent.name} (as configured)` }, ...toSelectOptions(models)],
    },
    {
      id: "reasoning",
      name: "Reasoning",
      description: "How long the model thinks before it answers.",
      category: "thought_level",
      type: "select",
      currentValue: chosen.reasoning ?? DEFAULT,
      options: [{ value: DEFAULT, name: "Default of the model" }, ...toSelectOptions(REASONING)],
    },
  ];
}

function toSelectOptions(values: Iterable<string>): SessionConfigSelectOption[] {
  return [...values].map((value) => ({ value, name: value }));
}

/** The change of settings that an option and its value stand for. */
export function parseChoice(option: string, value: unknown): SettingsChange {
  if (typeof value !== "string") throw invalidChoice(option, "a text");
  const isCleared = value === DEFAULT;
  switch (option) {
    case "mode":
      return { approvals: parseOneOf(APPROVAL_MODES, value, option) };
    case "model":
      if (!isCleared && !isModelName(value))
        throw invalidChoice(option, "a model as its provider calls it, in one word");
      return { model: isCleared ? null : value };
    case "reasoning":
      return { reasoning: isCleared ? null : parseOneOf<Reasoning>(REASONING, value, option) };
    default:
      throw new PostriderError(
        "invalid_input",
        `There is no option ${JSON.stringify(option.slice(0, 80))}: there are mode, model and reasoning.`,
        { details: { field: "configId" } },
      );
  }
}

function parseOneOf<Value extends string>(known: readonly Value[], value: string, option: string): Value {
  const found = known.find((one) => one === value);
  if (found === undefined) throw invalidChoice(option, `one of ${known.join(", ")}`);
  return found;
}

function invalidChoice(option: string, expected: string): PostriderError {
  return new PostriderError("invalid_input", `${option} must be ${expected}.`, {
    details: { field: option },
  });
}
