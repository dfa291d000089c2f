import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { getText, type Message, type NewMessage, type ToolCall, textPart } from "./message.ts";
import { NO_RESULT, providerHistory } from "./projection.ts";

const call = (id: string, name = "run"): ToolCall => ({ id, name, arguments: {} });
const user = (value: string): NewMessage => ({ role: "user", parts: [textPart(value)] });
const note = (value: string): NewMessage => ({ role: "note", parts: [textPart(value)] });
const says = (value: string, ...toolCalls: ToolCall[]): NewMessage => ({
  role: "assistant",
  parts: value === "" ? [] : [textPart(value)],
  ...(toolCalls.length > 0 && { toolCalls }),
});
const answers = (toolCallId: string, value = `result of ${toolCallId}`): NewMessage => ({
  role: "tool",
  parts: [textPart(value)],
  toolCallId,
  toolName: "run",
});

describe("the history for a provider", () => {
  it("is unchanged if it is valid", () => {
    const messages = log(
      note("summary so far"),
      user("hi"),
      says("one moment", call("a"), call("b")),
      answers("a"),
      answers("b"),
      says("done"),
      user("thanks"),
    );
    expect(providerHistory(messages)).toEqual(messages);
  });

  it("has a result for an interrupted call, so that the session stays usable", () => {
    const result = providerHistory(
      log(user("go"), says("", call("a"), call("b", "fetch")), answers("a"), user("still there?")),
    );
    expect(brief(result)).toEqual([
      "user: go",
      "assistant: [a b]",
      "tool a: result of a",
      `tool b: ${NO_RESULT}`,
      "user: still there?",
    ]);
    expect(result[3]).toMatchObject({
      toolName: "fetch",
      origin: { interrupted: true },
      seq: 2,
      session: "s",
    });
  });

  it("has a result for a call at the end", () => {
    expect(brief(providerHistory(log(says("", call("a")))))).toEqual([
      "assistant: [a]",
      `tool a: ${NO_RESULT}`,
    ]);
  });

  it("has no result without its call", () => {
    expect(
      brief(providerHistory(log(answers("x"), user("hi"), answers("y"), says("hello"), answers("z")))),
    ).toEqual(["user: hi", "assistant: hello"]);
    const late = log(says("", call("a")), user("well?"), answers("a"));
    expect(brief(providerHistory(late))).toEqual(["assistant: [a]", `tool a: ${NO_RESULT}`, "user: well?"]);
  });

  it("has results in the order of the calls, the first of each, then the notes", () => {
    const result = providerHistory(
      log(
        says("", call("a"), call("b")),
        note("slow"),
        answers("b"),
        answers("a", "1"),
        answers("a", "2"),
        user("ok"),
      ),
    );
    expect(brief(result)).toEqual([
      "assistant: [a b]",
      "tool a: 1",
      "tool b: result of b",
      "note: slow",
      "user: ok",
    ]);
  });

  it("has each call once, with an id and a name", () => {
    const calls = [call("a", ""), call("a"), call("a"), call("", "x"), call("b", "")];
    expect(brief(providerHistory(log(says("text", ...calls), answers("a"), answers("b"))))).toEqual([
      "assistant: text [a]",
      "tool a: result of a",
    ]);
    expect(brief(providerHistory(log(says("text", call("", ""))))), "no calls left").toEqual([
      "assistant: text",
    ]);
  });

  it("separates two calls with the same id in two messages", () => {
    const messages = log(says("", call("a")), answers("a", "1"), says("", call("a")), answers("a", "2"));
    expect(providerHistory(messages)).toEqual(messages);
  });

  it("has no assistant message without text and calls, and no empty note", () => {
    const messages = log(
      user("a"),
      says(""),
      { role: "assistant", parts: [textPart("")] },
      note(""),
      says("", call("", "x")),
    );
    expect(brief(providerHistory(messages))).toEqual(["user: a"]);
    const between = log(says("", call("a")), says(""), answers("a"));
    expect(brief(providerHistory(between))).toEqual(["assistant: [a]", "tool a: result of a"]);
  });

  it("has tool calls of the assistant only", () => {
    const messages = log({ ...user("hi"), toolCalls: [call("a")] }, answers("a"));
    expect(providerHistory(messages)).toEqual(log(user("hi")));
  });
});

describe("the history of any session", () => {
  const id = fc.constantFrom("a", "b", "c", "");
  const anyMessage: fc.Arbitrary<NewMessage> = fc.record(
    {
      role: fc.constantFrom("user", "assistant", "assistant", "tool", "tool", "note"),
      parts: fc.array(fc.constantFrom(textPart(""), textPart("x"), { type: "resource", uri: "u" } as const), {
        maxLength: 2,
      }),
      toolCalls: fc.array(
        fc.record({ id, name: fc.constantFrom("run", "run", ""), arguments: fc.constant({}) }),
        {
          maxLength: 3,
        },
      ),
      toolCallId: id,
    },
    { requiredKeys: ["role", "parts"] },
  );
  const anyLog = fc.array(anyMessage, { maxLength: 20, size: "max" }).map((list) => freeze(log(...list)));

  it("has a call for every result and a result for every call", () => {
    fc.assert(
      fc.property(anyLog, (messages) => {
        expect(problems(providerHistory(messages))).toEqual([]);
      }),
      { numRuns: 2000 },
    );
  });

  it("does not change when it is projected again", () => {
    fc.assert(
      fc.property(anyLog, (messages) => {
        const once = providerHistory(messages);
        expect(providerHistory(once)).toEqual(once);
      }),
      { numRuns: 1000 },
    );
  });

  it("loses no text of a person or an assistant, and adds only missing results", () => {
    fc.assert(
      fc.property(anyLog, (messages) => {
        const spoken = (list: readonly Message[]): string[] =>
          list
            .filter((m) => m.role !== "tool" && getText(m).trim() !== "")
            .map((m) => `${m.seq} ${m.role} ${getText(m)}`);
        const result = providerHistory(messages);
        expect(spoken(result).toSorted()).toEqual(spoken(messages).toSorted());
        for (const message of result) {
          if (message.origin?.interrupted === true) expect(getText(message)).toBe(NO_RESULT);
          else expect(messages[message.seq - 1]).toMatchObject({ role: message.role, parts: message.parts });
        }
      }),
      { numRuns: 1000 },
    );
  });

  it("is unchanged if it was valid", () => {
    const turn = fc.oneof(
      fc.constant([user("x")]),
      fc.constant([note("x")]),
      fc.constant([says("x")]),
      fc
        .uniqueArray(fc.constantFrom("a", "b", "c"), { minLength: 1 })
        .map((ids) => [says("", ...ids.map((one) => call(one))), ...ids.map((one) => answers(one))]),
    );
    fc.assert(
      fc.property(fc.array(turn), (turns) => {
        const messages = freeze(log(...turns.flat()));
        const result = providerHistory(messages);
        expect(problems(messages)).toEqual([]);
        expect(result).toHaveLength(messages.length);
        for (const [i, message] of result.entries()) expect(message).toBe(messages[i]);
      }),
    );
  });
});

/** The rules of providers, checked message by message and independently of the projection. */
function problems(messages: readonly Message[]): string[] {
  const found: string[] = [];
  let expected: string[] = [];
  for (const message of messages) {
    if (message.role === "tool") {
      const wanted = expected.shift();
      if (wanted !== message.toolCallId)
        found.push(`${message.seq}: result of ${message.toolCallId}, not of ${wanted}`);
      continue;
    }
    if (expected.length > 0) found.push(`${message.seq}: before the results of ${expected}`);
    expected = (message.toolCalls ?? []).map((one) => one.id);
    if (new Set(expected).size < expected.length) found.push(`${message.seq}: an id twice`);
    if (message.toolCalls?.some((one) => one.id === "" || one.name === ""))
      found.push(`${message.seq}: a nameless call`);
    if (message.role !== "assistant" && expected.length > 0)
      found.push(`${message.seq}: ${message.role} calls`);
    if (message.role === "assistant" && expected.length === 0 && message.parts.length === 0) {
      found.push(`${message.seq}: empty`);
    }
  }
  if (expected.length > 0) found.push(`no results of ${expected}`);
  return found;
}

function log(...messages: NewMessage[]): Message[] {
  return messages.map((message, i) => ({ at: 1000 + i, ...message, session: "s", seq: i + 1 }));
}

function brief(messages: readonly Message[]): string[] {
  return messages.map((message) => {
    const calls =
      message.toolCalls === undefined ? "" : `[${message.toolCalls.map((one) => one.id).join(" ")}]`;
    const who = message.role === "tool" ? `tool ${message.toolCallId}` : message.role;
    return `${who}: ${[getText(message), calls].filter((said) => said !== "").join(" ")}`;
  });
}

function freeze(messages: Message[]): readonly Message[] {
  for (const message of messages) {
    Object.freeze(message.parts);
    Object.freeze(message.toolCalls);
    Object.freeze(message);
  }
  return Object.freeze(messages);
}
