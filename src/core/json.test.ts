import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  expectArray,
  expectObject,
  instantFromJson,
  messageFromJson,
  messageToJson,
  sessionContextToJson,
  sessionToJson,
  textFromJson,
  usageFromJson,
} from "./json.ts";
import { checkMessage, MAX_PART_BYTES, type NewMessage } from "./message.ts";
import type { Session } from "./session.ts";
import { buildSessionContext } from "./session-context.ts";
import { sourceToJson } from "./source.ts";
import { emptyUsage, type Usage } from "./usage.ts";

const usage: Usage = {
  inputTokens: 1,
  outputTokens: 2,
  cacheReadTokens: 3,
  cacheWriteTokens: 4,
  reasoningTokens: 5,
  totalTokens: 10,
  lastPromptTokens: 6,
  costUsd: 0.25,
  costStatus: "estimated",
  costSource: "list",
  model: "m",
  provider: "p",
  baseUrl: "http://localhost",
};

const session: Session = {
  id: "20260315_100000_00000001",
  handle: "k7f",
  kind: "chat",
  profile: "main",
  owner: "owner",
  audience: "chat:telegram:-100",
  title: "plan",
  origin: { platform: "telegram", chatId: "-100", chatType: "group", chatName: "Team", userId: "7" },
  displayName: "Team",
  cwd: "/src",
  config: { topP: 1, nestedName: { stillCamel: true } },
  usage,
  messageCount: 8,
  humanCount: 3,
  toolCallCount: 2,
  createdAt: 100,
  lastAt: 200,
  endedAt: 300,
  endReason: "idle",
  archivedAt: 400,
  parent: "20260314_100000_00000001",
};

describe("a session as JSON", () => {
  it("has these names, and no others", () => {
    expect(sessionToJson(session)).toEqual({
      id: session.id,
      handle: "k7f",
      kind: "chat",
      profile: "main",
      owner: "owner",
      audience: "chat:telegram:-100",
      title: "plan",
      display_name: "Team",
      origin: {
        platform: "telegram",
        chat_id: "-100",
        chat_name: "Team",
        chat_type: "group",
        user_id: "7",
        user_name: null,
        thread_id: null,
        chat_topic: null,
      },
      platform: "telegram",
      chat_type: "group",
      cwd: "/src",
      config: { topP: 1, nestedName: { stillCamel: true } },
      message_count: 8,
      human_count: 3,
      tool_call_count: 2,
      created_at: 100,
      updated_at: 200,
      ended_at: 300,
      end_reason: "idle",
      archived_at: 400,
      parent_session_id: session.parent,
      input_tokens: 1,
      output_tokens: 2,
      cache_read_tokens: 3,
      cache_write_tokens: 4,
      reasoning_tokens: 5,
      total_tokens: 10,
      last_prompt_tokens: 6,
      estimated_cost_usd: 0.25,
      cost_status: "estimated",
      cost_source: "list",
      model: "m",
      billing_provider: "p",
      billing_base_url: "http://localhost",
    });
  });

  it("always has every name: absent values are null", () => {
    const { id, handle, kind, profile, owner, messageCount, humanCount, toolCallCount, createdAt, lastAt } =
      session;
    const bare: Session = {
      ...{ id, handle, kind, profile, owner, messageCount, humanCount, toolCallCount, createdAt, lastAt },
      usage: emptyUsage(),
    };
    const json = sessionToJson(bare);
    expect(Object.keys(json).sort()).toEqual(Object.keys(sessionToJson(session)).sort());
    expect(json).toMatchObject({ title: null, origin: null, platform: null, parent_session_id: null });
    expect(JSON.parse(JSON.stringify(json))).toEqual(json);
  });

  it("of a list also has a preview", () => {
    expect(sessionToJson({ ...session, preview: "hello" }).preview).toBe("hello");
  });

  it("returns its counters; the total is computed", () => {
    expect(usageFromJson(sessionToJson(session))).toEqual(usage);
    expect(usageFromJson({ input_tokens: 5, total_tokens: 999 }).totalTokens).toBe(5);
    expect(usageFromJson({})).toEqual(emptyUsage());
  });

  it("is refused with invalid counters", () => {
    for (const json of [
      { input_tokens: "5" },
      { output_tokens: -1 },
      { last_prompt_tokens: 1.5 },
      { estimated_cost_usd: "free" },
      { model: 5 },
      { cost_status: {} },
    ])
      expect(() => usageFromJson(json), JSON.stringify(json)).toThrow(
        expect.objectContaining({ code: "invalid_input" }),
      );
  });
});

const text = fc.string({ unit: "binary", maxLength: 20 });
const hash = fc.string({ unit: fc.constantFrom(..."0123456789abcdef"), minLength: 64, maxLength: 64 });
const json = fc.jsonValue().map((value) => JSON.parse(JSON.stringify(value)));
const part = fc.oneof(
  fc.record({ type: fc.constant("text" as const), text }),
  fc.record(
    {
      type: fc.constantFrom("image" as const, "file" as const),
      blob: hash,
      mimeType: text,
      size: fc.nat(MAX_PART_BYTES),
      name: text,
    },
    { requiredKeys: ["type", "blob", "mimeType", "size"] },
  ),
  fc.record(
    { type: fc.constant("resource" as const), uri: text, mimeType: text, text, blob: hash },
    { requiredKeys: ["type", "uri"] },
  ),
);
const message = fc.record(
  {
    role: fc.constantFrom("user" as const, "assistant" as const, "tool" as const, "note" as const),
    parts: fc.array(part, { maxLength: 4 }),
    at: fc.nat(),
    toolCalls: fc.array(
      fc.record({ id: text, name: text, arguments: json }, { requiredKeys: ["id", "name"] }),
      { maxLength: 3 },
    ),
    toolCallId: text,
    toolName: text,
    reasoning: text,
    finishReason: text,
    tokens: fc.nat(),
    origin: fc.record(
      {
        platform: text,
        platformMessageId: text,
        userId: text,
        userName: text,
        proactive: fc.boolean(),
        interrupted: fc.boolean(),
      },
      { requiredKeys: [] },
    ),
    extra: fc.dictionary(text, json, { maxKeys: 3 }),
  },
  { requiredKeys: ["role", "parts"] },
) as fc.Arbitrary<NewMessage>;

describe("a session's context as JSON", () => {
  it("has these names, and null without a session", () => {
    const context = buildSessionContext(
      { platform: "telegram", chatType: "group", chatId: "-1", userId: "7" },
      {
        platforms: [{ platform: "telegram", connected: true, homeChannel: { chatId: "-9", name: "Home" } }],
        scope: { groupsPerUser: false },
      },
      { key: "agent:main:telegram:group:-1", sessionId: "s1", createdAt: 1, updatedAt: 2 },
    );
    const json = {
      source: sourceToJson(context.source),
      shared: true,
      connected_platforms: ["telegram"],
      home_channels: [{ platform: "telegram", chat_id: "-9", name: "Home" }],
      session_key: "agent:main:telegram:group:-1",
      session_id: "s1",
      created_at: 1,
      updated_at: 2,
    };
    expect(sessionContextToJson(context)).toEqual(json);
    const { entry: _, ...unknown } = context;
    const none = { session_key: null, session_id: null, created_at: null, updated_at: null };
    expect(sessionContextToJson(unknown)).toEqual({ ...json, ...none });
  });
});

describe("a message as JSON", () => {
  it("is unchanged after writing and reading a file", () => {
    fc.assert(
      fc.property(message, (given) => {
        const file = JSON.stringify(messageToJson(given));
        expect(messageFromJson(JSON.parse(file), "message")).toEqual(given);
        expect(checkMessage(messageFromJson(JSON.parse(file), "message"))).toEqual(checkMessage(given));
      }),
    );
  });

  it("has these names, and only those it needs", () => {
    expect(
      messageToJson({
        session: "s",
        seq: 3,
        at: 9,
        role: "assistant",
        parts: [
          { type: "image", blob: "b", mimeType: "image/png", size: 1, name: "n" },
          { type: "resource", uri: "u", text: "t" },
        ],
        toolCalls: [
          { id: "c", name: "n", arguments: { someKey: null } },
          { id: "d", name: "n", arguments: null },
        ],
        toolCallId: "c0",
        toolName: "tool",
        reasoning: "r",
        finishReason: "stop",
        tokens: 0,
        origin: { platform: "signal", platformMessageId: "1", userId: "2", userName: "A", proactive: true },
        extra: { keptAsItIs: 1 },
      }),
    ).toEqual({
      session: "s",
      seq: 3,
      at: 9,
      role: "assistant",
      parts: [
        { type: "image", blob: "b", mime_type: "image/png", size: 1, name: "n" },
        { type: "resource", uri: "u", text: "t" },
      ],
      tool_calls: [
        { id: "c", name: "n", arguments: { someKey: null } },
        { id: "d", name: "n", arguments: null },
      ],
      tool_call_id: "c0",
      tool_name: "tool",
      reasoning: "r",
      finish_reason: "stop",
      token_count: 0,
      origin: { platform: "signal", platform_message_id: "1", user_id: "2", user_name: "A", proactive: true },
      extra: { keptAsItIs: 1 },
    });
    expect(messageToJson({ role: "user", parts: [] })).toEqual({ role: "user", parts: [] });
  });

  it("treats null as absent, and ignores unknown names", () => {
    const given = { role: "user", parts: [], tool_calls: null, origin: null, reasoning: null, later: 1 };
    expect(messageFromJson(given, "m")).toEqual({ role: "user", parts: [] });
  });

  it("is refused with the path of the invalid field", () => {
    for (const [given, field] of [
      [5, "m"],
      [[], "m"],
      [{ role: "user" }, "m.parts"],
      [{ parts: [1] }, "m.parts[0]"],
      [{ parts: [], tool_calls: {} }, "m.tool_calls"],
      [{ parts: [], tool_calls: [null] }, "m.tool_calls[0]"],
      [{ parts: [], origin: "x" }, "m.origin"],
    ] as const)
      expect(() => messageFromJson(given, "m"), field).toThrow(
        expect.objectContaining({ code: "invalid_input", details: { field } }),
      );
  });
});

describe("unknown JSON", () => {
  it("is an object, a list, a text or a time, or refused by name", () => {
    expect(expectObject({ a: 1 }, "x")).toEqual({ a: 1 });
    expect(expectArray([1], "x")).toEqual([1]);
    expect(textFromJson({ a: "t" }, "a")).toBe("t");
    expect(instantFromJson({ a: 0 }, "a")).toBe(0);
    for (const none of [{}, { a: null }, { a: undefined }]) {
      expect(textFromJson(none, "a")).toBeUndefined();
      expect(instantFromJson(none, "a")).toBeUndefined();
    }
    expect(textFromJson({ a: "" }, "a")).toBeUndefined();
    for (const attempt of [
      () => expectObject(null, "x"),
      () => expectObject([], "x"),
      () => expectArray({}, "x"),
      () => textFromJson({ x: 1 }, "x"),
      () => instantFromJson({ x: "1" }, "x"),
      () => instantFromJson({ x: -1 }, "x"),
      () => instantFromJson({ x: 0.5 }, "x"),
    ])
      expect(attempt).toThrow(expect.objectContaining({ code: "invalid_input", details: { field: "x" } }));
  });
});
