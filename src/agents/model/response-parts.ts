import type { Message } from "../../core/message.ts";
import type { ModelResponse } from "../../ports/agent.ts";

/** Fields of a provider that it wants back with the part, exactly as it sent them. */
export type ProviderData = Readonly<Record<string, string>>;

/**
 * One part of a model's response, in the order of the response. The stored message holds the words of all its parts in one
 * text, so a part only says how many characters of it are its own.
 */
export type ResponsePart =
  | { readonly type: "reasoning" | "text"; readonly length: number; readonly data?: ProviderData }
  | { readonly type: "call"; readonly id: string; readonly data?: ProviderData };

/** A response as its messages keep it, under `extra.model`. */
export interface StoredResponse extends ModelResponse {
  readonly parts: readonly ResponsePart[];
}

/** Everything else that providers attach to a part is of no use in a later request. */
const FIELDS: Readonly<Record<ResponsePart["type"], readonly string[]>> = {
  reasoning: ["signature", "redactedData", "itemId", "reasoningEncryptedContent"],
  text: ["phase"],
  call: ["thoughtSignature"],
};

/** Picks the fields that the provider wants back from the client's metadata, which has them under the provider's name. */
export function pickProviderData(type: ResponsePart["type"], metadata: unknown): ProviderData | undefined {
  const found: Record<string, string> = {};
  for (const fields of Object.values(toRecord(metadata) ?? {})) {
    for (const name of FIELDS[type]) {
      const value = toRecord(fields)?.[name];
      if (typeof value === "string") found[name] = value;
    }
  }
  return Object.keys(found).length === 0 ? undefined : found;
}

/** Reads what a message keeps of its response. Nothing if there is none, or it is not in the form that we write. */
export function readStoredResponse({ extra }: Pick<Message, "extra">): StoredResponse | undefined {
  const kept = toRecord(extra?.model);
  const { provider, model, response, parts } = kept ?? {};
  if (typeof provider !== "string" || typeof model !== "string" || typeof response !== "string")
    return undefined;
  if (!Array.isArray(parts)) return undefined;
  return { provider, model, response, parts: parts.flatMap((part: unknown) => parsePart(part)) };
}

function parsePart(value: unknown): ResponsePart[] {
  const { type, length, id, data } = toRecord(value) ?? {};
  if (type === "call") return typeof id === "string" ? [{ type, id, ...parseData(type, data) }] : [];
  if (type !== "reasoning" && type !== "text") return [];
  if (typeof length !== "number" || !Number.isSafeInteger(length) || length < 0) return [];
  return [{ type, length, ...parseData(type, data) }];
}

/** An imported session may hold anything: only known fields reach a provider. */
function parseData(type: ResponsePart["type"], data: unknown): { readonly data?: ProviderData } {
  const known = pickProviderData(type, { data });
  return known === undefined ? {} : { data: known };
}

function toRecord(value: unknown): Readonly<Record<string, unknown>> | undefined {
  return typeof value === "object" && value !== null && !Array.isArray(value)
    ? (value as Readonly<Record<string, unknown>>)
    : undefined;
}
