import type { Routing } from "../core/conversation.ts";
import { type ScopeSettings, scopeFor } from "../core/identity.ts";
import type { PersonId } from "../core/owner.ts";
import { computeResetInstants } from "../core/reset-instants.ts";
import {
  DEFAULT_RESET_POLICY,
  type ResetPolicy,
  type ResetSettings,
  resolveResetPolicy,
} from "../core/reset-policy.ts";
import type { SessionKind } from "../core/session.ts";
import { buildSessionId } from "../core/session-id.ts";
import { type SourceInput, source } from "../core/source.ts";
import type { Clock } from "../ports/clock.ts";

/** Settings that determine the conversation of a message. */
export interface RoutingSettings {
  readonly zone: string;
  readonly profile: string;
  readonly reset: ResetSettings;
  readonly scope: ScopeSettings;
  readonly clock: Clock;
}

export interface RoutingOptions {
  readonly kind?: SessionKind;
  /** The person of this account, if known. */
  readonly person?: PersonId;
  /** Replaces the policy of the settings. */
  readonly policy?: ResetPolicy;
}

export const DEFAULT_RESET: ResetSettings = { default: DEFAULT_RESET_POLICY, byType: {}, byPlatform: {} };

/** Builds the input with which a store finds or creates the conversation of a source. */
export function buildRouting(
  from: SourceInput,
  settings: RoutingSettings,
  options: RoutingOptions = {},
): Routing {
  const origin = source(from);
  const now = settings.clock.now();
  const policy = options.policy ?? resolveResetPolicy(settings.reset, origin.platform, origin.chatType);
  return {
    source: origin,
    profile: settings.profile,
    scope: scopeFor(settings.scope, origin.platform),
    reset: computeResetInstants(policy, now, settings.zone),
    notify: policy.notify && !policy.notifyExcludePlatforms.includes(origin.platform),
    newSession: { id: generateSessionId(settings), kind: options.kind ?? "chat" },
    now,
    ...(options.person !== undefined && { person: options.person }),
  };
}

export function generateSessionId({ clock, zone }: Pick<RoutingSettings, "clock" | "zone">): string {
  // Without a Buffer: every message brings an id in case it needs a new session.
  let hex = "";
  for (const byte of clock.random(4)) hex += byte.toString(16).padStart(2, "0");
  return buildSessionId(clock.now(), zone, hex);
}
