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

/** What the agent's questions whether it may come to. */
const MODES: Readonly<Record<ApprovalMode, { readonly name: string; readonly description: string }>> = {
  ask: { name: "Ask", description: "You are asked before anything is done that changes something." },
  allow: { name: "Allow", description: "Nothing is asked: whatever the agent wants to do is allowed." },
  deny: { name: "Deny", description: "Nothing is asked: whatever would change something is refused." },
};

/** Stands for what is configured, where nothing was chosen. */
const DEFAULT = "default";

export function buildModes({ approvals = "ask" }: ConversationSettings): SessionModeState {
  return { currentModeId: approvals, availableModes: APPROVAL_MODES.map((id) => ({ id, ...MODES[id] })) };
}

/** Everything that can be chosen for a thread, and what is. */
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
      options: [{ value: DEFAULT, name: "As the model has it" }, ...toSelectOptions(REASONING)],
    },
  ];
}

function toSelectOptions(values: Iterable<string>): SessionConfigSelectOption[] {
  return [...values].map((value) => ({ value, name: value }));
}

/** What choosing this value changes. */
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
