import { createHash } from "node:crypto";
import type { Message } from "../../core/message.ts";
import type { ProviderName } from "./provider.ts";

/** Gives each call an id that is unique in the session: some providers start their count again in each answer. */
export function createCallIds(history: readonly Message[]): (callId: string) => string {
  const taken = new Set(history.flatMap(({ toolCalls = [] }) => toolCalls.map(({ id }) => id)));
  return (callId) => makeUnique(taken, callId || "call");
}

/** The providers that refuse a request whose call ids have other characters or are longer. */
const STRICT: ReadonlySet<ProviderName> = new Set<ProviderName>(["anthropic", "openai"]);
const ACCEPTED = /^[A-Za-z0-9_-]{1,60}$/;

/**
 * Maps stored call ids to ids that the provider accepts: they may come from another provider, and an imported session may
 * contain one twice. The same history always gives the same ids, so that prefixes of requests stay equal.
 */
export function createRequestIds(provider: ProviderName): (stored: string) => string {
  const taken = new Set<string>();
  return (stored) => makeUnique(taken, STRICT.has(provider) ? toAcceptedId(stored) : stored);
}

function toAcceptedId(stored: string): string {
  if (ACCEPTED.test(stored)) return stored;
  const hash = createHash("sha256").update(stored).digest("hex").slice(0, 12);
  return `${stored.replaceAll(/[^A-Za-z0-9_-]/g, "_").slice(0, 40)}_${hash}`;
}

function makeUnique(taken: Set<string>, name: string): string {
  let id = name;
  for (let number = 2; taken.has(id); number += 1) id = `${name}-${number}`;
  taken.add(id);
  return id;
}
