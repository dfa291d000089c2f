import type { Message } from "../../core/message.ts";
import type { ModelResponse } from "../../ports/agent.ts";

/** Fields that the provider requires back with the part, exactly as it sent them. */
export type ProviderData = Readonly<Record<string, string>>;

/**
 * One part of a model's response, in the order of the response. The stored message contains the text of all its parts, so
 * a part only has the number of its characters.
 */
export type ResponsePart =
  | { readonly type: "reasoning" | "text"; readonly length: number; readonly data?: ProviderData }
  | { readonly type: "call"; readonly id: string; readonly data?: ProviderData };

/** The stored form of a response, under `extra.model` of its messages. */
export interface StoredResponse extends ModelResponse {
  readonly parts: readonly ResponsePart[];
}

/** A later request does not need any other field that providers attach to a part. */
const FIELDS: Readonly<Record<ResponsePart["type"], readonly string[]>> = {
  reasoning: ["signature", "redactedData", "itemId", "reasoningEncryptedContent"],
  text: ["phase"],
  call: ["thoughtSignature"],
};

/** Picks the required fields from the client's metadata, which has them under the provider's name. */
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

/** Reads the stored response of a message. `undefined` if there is none, or in another format. */
export function readStoredResponse({ extra }: Pick<Message, "extra">): StoredResponse | undefined {
  const stored = toRecord(extra?.model);
  const { provider, model, response, parts } = stored ?? {};
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

/** An imported session may contain anything: only known fields reach a provider. */
function parseData(type: ResponsePart["type"], data: unknown): { readonly data?: ProviderData } {
  const known = pickProviderData(type, { data });
  return known === undefined ? {} : { data: known };
}

function toRecord(value: unknown): Readonly<Record<string, unknown>> | undefined {
  return typeof value === "object" && value !== null && !Array.isArray(value)
    ? (value as Readonly<Record<string, unknown>>)
    : undefined;
}
