import { contextPrompt } from "../core/context-prompt.ts";
import type { ConversationSettings } from "../core/conversation.ts";
import type { GatewaySettings } from "../core/gateway-settings.ts";
import { mergeHomeChannels } from "../core/home-channel.ts";
import { buildSessionContext } from "../core/session-context.ts";
import type { Source } from "../core/source.ts";
import type { Store } from "../ports/store.ts";

/** The settings that the system prompt depends on. */
export type PromptSettings = Pick<
  GatewaySettings,
  "instructions" | "personalities" | "privacy" | "scope" | "homes" | "platforms"
>;

/** Builds the first part of the prompt: instructions, personality, and the description of the chat. */
export async function buildSystemPrompt(
  source: Source,
  chosen: ConversationSettings,
  { store, settings, platforms }: { store: Store; settings: PromptSettings; platforms: readonly string[] },
): Promise<string> {
  const homes =
    platforms.length === 0
      ? []
      : mergeHomeChannels(settings.homes, await store.conversations.listHomeChannels());
  const context = buildSessionContext(source, {
    scope: settings.scope,
    platforms: platforms.map((platform) => {
      const homeChannel = homes.find((home) => home.platform === platform);
      return { platform, connected: true, ...(homeChannel !== undefined && { homeChannel }) };
    }),
  });
  const personality = settings.personalities[chosen.personality ?? ""];
  return [settings.instructions, personality, contextPrompt(context, settings.privacy)]
    .filter((section) => section !== undefined && section !== "")
    .join("\n\n");
}
