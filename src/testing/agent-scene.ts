import assert from "node:assert/strict";
import { type Message, textPart } from "../core/message.ts";
import type { Agent, AgentEvent, AgentTurn } from "../ports/agent.ts";
import type { Tool } from "../ports/tool.ts";

/** An agent, and the message that makes it do what the rule is about. */
export interface AgentCase {
  readonly agent: Agent;
  readonly said: string;
}

/** The maximum time until a stopped agent ends. */
export const SOON_MS = 1000;

export function createAgentTurn(said: string, tools: readonly Tool[] = []): AgentTurn {
  const message: Message = { session: "s", seq: 1, at: 0, role: "user", parts: [textPart(said)] };
  return { session: "s", history: [message], tools, blob: async () => undefined };
}

export function createAgentSignal(): AbortSignal {
  return new AbortController().signal;
}

export function startAgent(
  agent: Agent,
  said: string,
  signal: AbortSignal = createAgentSignal(),
): AsyncIterator<AgentEvent> {
  return agent.run(createAgentTurn(said), signal)[Symbol.asyncIterator]();
}

export function runAgent({ agent, said }: AgentCase): Promise<AgentEvent[]> {
  return collectEvents(agent.run(createAgentTurn(said), createAgentSignal()));
}

export async function collectEvents(events: AsyncIterable<AgentEvent>): Promise<AgentEvent[]> {
  const found: AgentEvent[] = [];
  for await (const event of events) found.push(event);
  return found;
}

/** All remaining events. */
export async function drainEvents(
  first: Promise<IteratorResult<AgentEvent>>,
  events: AsyncIterator<AgentEvent>,
): Promise<AgentEvent[]> {
  const found: AgentEvent[] = [];
  for (let step = await first; step.done !== true; step = await events.next()) found.push(step.value);
  return found;
}

export async function waitForEvent<Type extends AgentEvent["type"]>(
  events: AsyncIterator<AgentEvent>,
  type: Type,
): Promise<Extract<AgentEvent, { readonly type: Type }>> {
  for (;;) {
    const step = await events.next();
    assert.ok(step.done !== true, `the agent ended without an event ${type}`);
    if (step.value.type === type) return step.value as Extract<AgentEvent, { readonly type: Type }>;
  }
}

export function joinEventText(events: readonly AgentEvent[]): string {
  return events.map((event) => (event.type === "text" ? event.text : "")).join("");
}

export async function failAfter<T>(ms: number, happens: Promise<T>): Promise<T> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new assert.AssertionError({ message: `not within ${ms} ms` })), ms);
  });
  try {
    return await Promise.race([happens, late]);
  } finally {
    clearTimeout(timer);
  }
}

/** Waits for some turns of the event loop, in which work that is not blocked would continue. */
export async function waitTicks(): Promise<"waits"> {
  for (let turn = 0; turn < 20; turn += 1) await new Promise((resolve) => setImmediate(resolve));
  return "waits";
}

export function deepFreeze(value: unknown): void {
  if (typeof value !== "object" || value === null || Object.isFrozen(value)) return;
  Object.freeze(value);
  for (const inner of Object.values(value)) deepFreeze(inner);
}
