import { isShared, type ScopeSettings, scopeFor } from "./identity.ts";
import { type Source, toDisplayText } from "./source.ts";

/** The chat on a platform that receives what has no other place to go. */
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

/** Which session it is. For programs; it never reaches the model. */
export interface ContextEntry {
  readonly key: string;
  readonly sessionId: string;
  readonly createdAt: number;
  readonly updatedAt: number;
}

/** Everything that the agent's surroundings are described from, as one value and never as globals. */
export interface SessionContext {
  readonly source: Source;
  /** Several people speak in this one conversation, so its sender differs from message to message. */
  readonly shared?: true;
  readonly connectedPlatforms: readonly string[];
  readonly homeChannels: readonly HomeChannel[];
  readonly entry?: ContextEntry;
}

/** Home channels of platforms that are not connected are left out: nothing could be delivered there. */
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
