import type { SessionConfigOption, SessionModeState } from "@agentclientprotocol/sdk/unstable";
import { awaitUnlessAborted } from "../../agents/await-unless-aborted.ts";
import { buildConfigOptions, buildModes } from "./choices.ts";
import { type EditorContext, findStoredSession } from "./editor-context.ts";
import { formatUpdatedAt } from "./stored-sessions.ts";
import type { Thread } from "./thread.ts";

const MODEL_NAMES_TIMEOUT_MS = 200;

export interface Choices {
  readonly modes: SessionModeState;
  readonly configOptions: SessionConfigOption[];
}

/** The current options of a thread. */
export async function readChoices(editor: EditorContext, { turns }: Pick<Thread, "turns">): Promise<Choices> {
  const settings = (await turns.chat.findCurrent())?.conversation.settings ?? {};
  const { name } = editor.findAgent() ?? { name: "no model" };
  // Clients read the names in the answer that opens a thread, and may drop updates right after it.
  const models =
    (await awaitUnlessAborted(listAgentModels(editor), AbortSignal.timeout(MODEL_NAMES_TIMEOUT_MS))) ?? [];
  return { modes: buildModes(settings), configOptions: buildConfigOptions(settings, { name, models }) };
}

/** The models that the provider offers. Empty if it does not answer. */
export async function listAgentModels({ findAgent, signal, log }: EditorContext): Promise<readonly string[]> {
  try {
    return (await findAgent()?.models?.(signal)) ?? [];
  } catch (error) {
    log.warn({ error }, "the models of the provider could not be listed");
    return [];
  }
}

/** Sends changed options in both forms, because an editor may support only one. */
export async function showChoices(editor: EditorContext, thread: Thread): Promise<void> {
  const choices = await readChoices(editor, thread);
  if (!thread.display.recordIfChanged("choices", choices)) return;
  const { modes, configOptions: options } = choices;
  thread.display.show({ sessionUpdate: "current_mode_update", currentModeId: modes.currentModeId });
  thread.display.show({ sessionUpdate: "config_option_update", configOptions: options });
}

export async function showInfo(editor: EditorContext, thread: Thread): Promise<void> {
  const session = await findStoredSession(editor, thread.id);
  if (session === undefined) return;
  const { title } = session;
  const info = { ...(title !== undefined && { title }), updatedAt: formatUpdatedAt(session) };
  if (thread.display.recordIfChanged("info", info))
    thread.display.show({ sessionUpdate: "session_info_update", ...info });
}

/** Shows how full the model's context window is, if its size is known. */
export async function showUsage(editor: EditorContext, thread: Thread): Promise<void> {
  const session = await findStoredSession(editor, thread.id);
  const agent = editor.findAgent();
  const size = agent?.getContextWindow?.(session?.usage.model ?? agent.name) ?? agent?.contextWindow;
  if (session === undefined || !size) return;
  const { lastPromptTokens: used, costUsd } = session.usage;
  const cost = costUsd === undefined ? {} : { cost: { amount: costUsd, currency: "USD" } };
  thread.display.show({ sessionUpdate: "usage_update", used, size, ...cost });
}
