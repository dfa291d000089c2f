import { expect } from "vitest";
import type { ReadRequest } from "./read-request.ts";

/** Expects each of these in the system text, once, in this order. */
export function expectInOrder({ system }: Pick<ReadRequest, "system">, parts: readonly string[]): void {
  const text = system.join("\n\n");
  for (const part of parts) expect(text.split(part), `once in the system text: ${part}`).toHaveLength(2);
  const places = parts.map((part) => text.indexOf(part));
  expect(places, text).toEqual(places.toSorted((one, other) => one - other));
}

/** Expects none of these anywhere in the request. */
export function expectNowhere(request: unknown, words: readonly string[]): void {
  const text = JSON.stringify(request);
  for (const word of words) expect(text, `must not reach the model: ${word}`).not.toContain(word);
}

/** The request without parts that change by themselves: the date, and everything after it in the system text. */
export function withoutDate(request: ReadRequest | undefined): ReadRequest | undefined {
  return request && { ...request, system: [request.system.join("\n\n").split("\n\nToday is ")[0] ?? ""] };
}
