import { isShared, type ScopeSettings, scopeFor } from "./identity.ts";
import { type Source, toDisplayText } from "./source.ts";

/** The chat of a platform that receives messages without another target. */
export interface HomeChannel {
  readonly platform: string;
  readonly chatId: string;
  readonly name: string;
}

export interface ConnectedPlatform {
  readonly platform: string;
  readonly homeChannel?: Omit<HomeChannel, "platform">;
}

/** The part of the configuration that a session's context depends on. */
export interface ContextConfig {
  readonly platforms: readonly (ConnectedPlatform & { readonly connected: boolean })[];
  readonly scope?: ScopeSettings;
}

/** Identifies the session. Never part of a prompt. */
export interface ContextEntry {
  readonly key: string;
  readonly sessionId: string;
  readonly createdAt: number;
  readonly updatedAt: number;
}

/** The data that the context prompt is built from. */
export interface SessionContext {
  readonly source: Source;
  /** Several people share the conversation, so the sender differs from message to message. */
  readonly shared?: true;
  readonly connectedPlatforms: readonly string[];
  readonly homeChannels: readonly HomeChannel[];
  readonly entry?: ContextEntry;
}

/** Omits home channels of platforms that are not connected, because nothing can be delivered there. */
export function buildSessionContext(
  source: Source,
  config: ContextConfig,
  entry?: ContextEntry,
): SessionContext {
  const connected = config.platforms.filter((it) => it.connected);
  const homeChannels: HomeChannel[] = [];
  for (const { platform, homeChannel } of connected) {
    if (homeChannel === undefined) continue;
    homeChannels.push({
      platform,
      chatId: homeChannel.chatId,
      name: toDisplayText(homeChannel.name) ?? "Home",
    });
  }
  return {
    source,
    ...(isShared(source, scopeFor(config.scope ?? {}, source.platform)) ? { shared: true } : {}),
    connectedPlatforms: connected.map((it) => it.platform),
    homeChannels,
    ...(entry === undefined ? {} : { entry }),
  };
}
