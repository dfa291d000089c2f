import { once } from "node:events";
import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { describe, expect, it, onTestFinished } from "vitest";
import {
  anthropicEnd,
  anthropicText,
  chatEnd,
  chatText,
  eventText,
  googleEnd,
  googleText,
  openaiEnd,
  openaiText,
} from "../../../test/support/stream-frames.ts";
import { textPart } from "../../core/message.ts";
import type { AgentEvent } from "../../ports/agent.ts";
import { model } from "./model.ts";
import type { ProviderName } from "./provider.ts";

type Frames = readonly Readonly<Record<string, unknown>>[];

/** The text of an answer, its failure, and whether tokens were counted. */
interface Left {
  readonly text: string;
  readonly failed: readonly string[];
  readonly empty: boolean;
}

async function readAnswer(
  provider: ProviderName,
  frames: Frames,
  end: (response: ServerResponse) => void = (response) => response.end(),
): Promise<Left> {
  const server = createServer((request, response) => {
    request.resume();
    request.on("end", () => {
      response.writeHead(200, { "content-type": "text/event-stream" });
      response.write(frames.map(eventText).join("") || ": nothing\n\n", () => end(response));
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const host = `127.0.0.1:${(server.address() as AddressInfo).port}`;
  const agent = model(
    { provider, model: "tiny", apiKey: "sk-secret", baseUrl: `http://${host}/v1` },
    { retries: 0 },
  );
  const found: AgentEvent[] = [];
  const history = [{ session: "s", seq: 1, at: 0, role: "user" as const, parts: [textPart("hello")] }];
  const turn = { session: "s", history, blob: async () => undefined };
  for await (const event of agent.run(turn, new AbortController().signal)) found.push(event);
  const failures = found.filter((event) => event.type === "failed");
  return {
    text: found.map((event) => (event.type === "text" ? event.text : "")).join(""),
    failed: failures.map(({ reason }) => reason.replaceAll(host, "HOST")),
    empty: failures.some(({ empty }) => empty === true),
  };
}

const NAMES = {
  anthropic: "Anthropic at HOST",
  openai: "OpenAI at HOST",
  google: "Google at HOST",
  compatible: "The model server at HOST",
};
type Spoken = keyof typeof NAMES;
const SPOKEN: readonly Spoken[] = ["anthropic", "openai", "google", "compatible"];

const TEXT: Readonly<Record<Spoken, (text: string) => Frames>> = {
  anthropic: anthropicText,
  openai: openaiText,
  google: googleText,
  compatible: chatText,
};
const WHOLE: Readonly<Record<Spoken, Frames>> = {
  anthropic: anthropicEnd("end_turn"),
  openai: openaiEnd(),
  google: googleEnd("STOP"),
  compatible: chatEnd("stop"),
};
const LIMITED: Readonly<Record<Spoken, Frames>> = {
  anthropic: anthropicEnd("max_tokens"),
  openai: openaiEnd("max_output_tokens"),
  google: googleEnd("MAX_TOKENS"),
  compatible: chatEnd("length"),
};
const FILTERED: Readonly<Record<Spoken, Frames>> = {
  anthropic: anthropicEnd("refusal"),
  openai: openaiEnd("content_filter"),
  google: googleEnd("SAFETY"),
  compatible: chatEnd("content_filter"),
};

describe.each(SPOKEN)("an answer of %s", (provider) => {
  const who = NAMES[provider];
  const say = TEXT[provider];

  it("is complete when the provider reports that it is", async () => {
    expect(await readAnswer(provider, [...say("Good day."), ...WHOLE[provider]])).toEqual({
      text: "Good day.",
      failed: [],
      empty: false,
    });
  });

  it.each(["", " \n"])("fails when it is empty: %j", async (text) => {
    expect(await readAnswer(provider, [...say(text), ...WHOLE[provider]])).toEqual({
      text,
      failed: ["tiny gave an empty answer. /retry tries again."],
      empty: true,
    });
  });

  it("is stored and marked when the output limit is reached", async () => {
    expect(await readAnswer(provider, [...say("Half of"), ...LIMITED[provider]])).toEqual({
      text: "Half of",
      failed: ["The answer is incomplete: tiny reached its output limit. Ask it to go on to get the rest."],
      empty: false,
    });
    expect((await readAnswer(provider, [...say(""), ...LIMITED[provider]])).failed).toEqual([
      "tiny reached its output limit before it answered. Ask for less at once, or choose another model with /model.",
    ]);
  });

  it.each(["", "I cannot"])("names the content filter, after %j", async (text) => {
    const name = who.replace(/^The /, "the ");
    expect(await readAnswer(provider, [...say(text), ...FILTERED[provider]])).toEqual({
      text,
      failed: [
        `The content filter of ${name} blocked this. Change the request, or choose another model with /model.`,
      ],
      empty: false,
    });
  });

  it("is stored and marked when the stream ends too early", async () => {
    expect(await readAnswer(provider, say("Half of"))).toEqual({
      text: "Half of",
      failed: [`${who} ended the connection before the answer was complete. /retry tries again.`],
      empty: false,
    });
    expect((await readAnswer(provider, say(""))).failed).toEqual([
      `${who} ended the connection before the answer was complete. /retry tries again.`,
    ]);
  });

  it("is stored and marked when the connection breaks", async () => {
    const name = who.replace(/^The /, "the ");
    expect(await readAnswer(provider, say("Half of"), (response) => response.destroy())).toEqual({
      text: "Half of",
      failed: [
        `The connection to ${name} broke before the answer was complete (UND_ERR_SOCKET). /retry tries again.`,
      ],
      empty: false,
    });
  });
});

describe("a prompt that Google blocks", () => {
  it("is reported as blocked", async () => {
    const blocked = { promptFeedback: { blockReason: "PROHIBITED_CONTENT" } };
    expect(await readAnswer("google", [blocked])).toMatchObject({
      failed: [
        "The content filter of Google at HOST blocked this. Change the request, or choose another model with /model.",
      ],
    });
  });
});

describe("an error in the middle of an answer", () => {
  it("has the text of an error before the answer: Anthropic is overloaded", async () => {
    const error = { type: "error", error: { type: "overloaded_error", message: "Overloaded" } };
    expect(await readAnswer("anthropic", [...anthropicText("Half of"), error])).toMatchObject({
      text: "Half of",
      failed: ["Anthropic at HOST is overloaded (529). Try again in a few minutes."],
    });
  });

  it("has the text of an error before the answer: OpenAI fails", async () => {
    const error = { code: "server_error", message: "An error occurred while processing your request." };
    const failed = {
      type: "response.failed",
      sequence_number: 9,
      response: { id: "resp_1", status: "failed", error },
    };
    expect(await readAnswer("openai", [...openaiText("Half of"), failed])).toMatchObject({
      text: "Half of",
      failed: ["OpenAI at HOST has an internal error (500). Try again in a few minutes."],
    });
  });

  it("has the text of an error before the answer: a provider behind OpenRouter disconnects", async () => {
    const chunk = { id: "gen-1", object: "chat.completion.chunk", created: 1, model: "m", provider: "Acme" };
    const error = { code: 502, message: "Provider disconnected" };
    const choices = [{ index: 0, delta: { content: "" }, finish_reason: "error" }];
    expect(
      await readAnswer("openrouter", [...chatText("Half of"), { ...chunk, error, choices }]),
    ).toMatchObject({
      text: "Half of",
      failed: ["OpenRouter at HOST is not available at the moment (502). Try again in a few minutes."],
    });
    expect(await readAnswer("openrouter", [...chatText("Half of"), { error }])).toMatchObject({
      text: "Half of",
      failed: ["OpenRouter at HOST is not available at the moment (502). Try again in a few minutes."],
    });
  });

  it("is quoted if nothing else is known", async () => {
    const error = { message: "something odd" };
    expect(await readAnswer("compatible", [...chatText("Half of"), { error }])).toMatchObject({
      text: "Half of",
      failed: [
        'The model server at HOST stopped the answer with an error: "something odd". /retry tries again.',
      ],
    });
  });

  it("is reported when the stream is not in the format of the API", async () => {
    expect(await readAnswer("compatible", [...chatText("Half of"), { odd: true }])).toMatchObject({
      text: "Half of",
      failed: [
        "The model server at HOST sent an answer that is not in the format of its API. Check the server and its version.",
      ],
    });
  });
});
