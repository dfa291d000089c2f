import type { Message } from "../../src/core/message.ts";

/** The parts of a message that provider rules depend on. */
export interface Shape {
  readonly role: string;
  readonly calls?: readonly string[];
  /** The id of the call of a result. */
  readonly of?: string;
  readonly isEmpty?: true;
}

export function shapeOf({ role, toolCalls, toolCallId, parts }: Message): Shape {
  return {
    role,
    ...(toolCalls !== undefined && { calls: toolCalls.map(({ id }) => id) }),
    ...(toolCallId !== undefined && { of: toolCallId }),
    ...(parts.length === 0 && { isEmpty: true }),
  };
}

/**
 * Why a provider would refuse these messages. Each call has one result, directly after the calling message and in the order
 * of the calls; there are no other results; a user message is first; an assistant message follows a user message or
 * results, and is not empty.
 */
export function providerComplaints(messages: readonly Shape[]): string[] {
  const complaints: string[] = [];
  const seen = new Set<string>();
  let awaited: string[] = [];
  let before = "nobody";
  for (const [at, { role, calls = [], of, isEmpty }] of messages.entries()) {
    const complain = (what: string): void => void complaints.push(`message ${at}: ${what}`);
    if (role === "tool") {
      if (of !== awaited[0]) complain(`a result of ${of} where ${awaited[0] ?? "none"} is awaited`);
      awaited = awaited.slice(1);
      if (calls.length > 0) complain("a result calls something");
      before = role;
      continue;
    }
    if (awaited.length > 0) complain(`${role} speaks before the results of ${awaited.join(", ")}`);
    awaited = [];
    if (of !== undefined) complain(`a result in a message of ${role}`);
    if (role === "assistant") {
      if (before === "nobody") complain("the assistant speaks first");
      if (before === "assistant") complain("the assistant speaks twice in a row");
      if (isEmpty && calls.length === 0) complain("the assistant says and calls nothing");
    } else if (role !== "user" && role !== "note") complain(`nobody is called ${role}`);
    else if (calls.length > 0) complain(`${role} calls something`);
    for (const id of calls) {
      if (id === "") complain("a call without an id");
      if (seen.has(id)) complain(`the call ${id} is made twice`);
      seen.add(id);
    }
    awaited = [...calls];
    before = role;
  }
  if (awaited.length > 0) complaints.push(`no result of ${awaited.join(", ")} at the end`);
  return complaints;
}
