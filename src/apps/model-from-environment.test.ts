import { describe, expect, it } from "vitest";
import { modelFrom, modelOf } from "./model-from-environment.ts";

const OWN = "http://localhost:11434/v1";

describe("which model is asked", () => {
  it("is none where nothing is said", () => {
    expect(modelFrom({})).toBeUndefined();
    expect(modelFrom({}, { name: "m", window: 9000 })).toBeUndefined();
  });

  it("is the first provider's whose key the environment has", () => {
    expect(modelFrom({ OPENAI_API_KEY: "o", ANTHROPIC_API_KEY: "a" })).toMatchObject({
      provider: "anthropic",
      apiKey: "a",
    });
    expect(modelFrom({ OPENAI_API_KEY: "o", OPENAI_BASE_URL: OWN, POSTRIDER_MODEL: "m" })).toEqual({
      provider: "openai",
      model: "m",
      apiKey: "o",
      baseUrl: OWN,
    });
  });

  it.each(["GEMINI_API_KEY", "GOOGLE_GENERATIVE_AI_API_KEY"])("is Google's for a key in %s", (variable) => {
    const environment = { [variable]: "g", OPENROUTER_API_KEY: "r" };
    expect(modelFrom(environment)).toEqual({
      provider: "google",
      model: "gemini-flash-latest",
      apiKey: "g",
    });
    expect(modelOf("google", { ...environment, POSTRIDER_BASE_URL: OWN })?.apiKey).toBe("g");
  });

  it("is the environment's own address before everything", () => {
    const environment = { POSTRIDER_BASE_URL: OWN, OPENAI_API_KEY: "o", ANTHROPIC_API_KEY: "a" };
    expect(modelFrom(environment)).toEqual({
      provider: "compatible",
      model: "default",
      baseUrl: OWN,
      apiKey: "o",
    });
  });

  it("is the configured provider's, with the environment's key for it before the configured one", () => {
    const configured = { provider: "openai", name: "m", apiKey: "k", window: 9000 } as const;
    expect(modelFrom({ ANTHROPIC_API_KEY: "a" }, configured)).toEqual({
      provider: "openai",
      model: "m",
      apiKey: "k",
      window: 9000,
    });
    expect(modelFrom({ OPENAI_API_KEY: "o" }, configured)?.apiKey).toBe("o");
    expect(modelFrom({ POSTRIDER_MODEL: "other" }, configured)).toEqual({
      provider: "openai",
      model: "other",
      apiKey: "k",
    });
  });

  it("is at the configured address, to which OpenAI's own key does not go", () => {
    expect(modelFrom({ OPENAI_API_KEY: "o" }, { baseUrl: OWN })).toEqual({
      provider: "compatible",
      model: "default",
      baseUrl: OWN,
    });
    expect(modelFrom({ POSTRIDER_API_KEY: "p" }, { baseUrl: OWN, apiKey: "k" })?.apiKey).toBe("p");
  });

  it("never gets a key that was given for another provider or another address", () => {
    const elsewhere = { POSTRIDER_BASE_URL: "http://elsewhere" };
    expect(modelFrom(elsewhere, { provider: "anthropic", apiKey: "k", name: "m" })).toEqual({
      provider: "compatible",
      model: "default",
      baseUrl: "http://elsewhere",
    });
    expect(modelFrom(elsewhere, { baseUrl: OWN, apiKey: "k" })?.apiKey).toBeUndefined();
    expect(modelFrom({ POSTRIDER_BASE_URL: OWN }, { baseUrl: OWN, apiKey: "k" })?.apiKey).toBe("k");
    const chosen = { POSTRIDER_PROVIDER: "openai", OPENAI_API_KEY: "o" };
    expect(modelFrom(chosen, { provider: "anthropic", apiKey: "k" })?.apiKey).toBe("o");
  });

  it.each([
    [{}, { provider: "anthropic" }, "ANTHROPIC_API_KEY"],
    [{}, { provider: "compatible" }, "model.base_url"],
    [{}, { apiKey: "k" }, "model.provider"],
    [{ POSTRIDER_PROVIDER: "closedai" }, {}, "POSTRIDER_PROVIDER"],
    [{ POSTRIDER_MODEL_WINDOW: "big", OPENAI_API_KEY: "o" }, {}, "POSTRIDER_MODEL_WINDOW"],
  ] as const)("says what is missing or wrong: %j %j", (environment, configured, named) => {
    expect(() => modelFrom(environment, configured)).toThrow(
      expect.objectContaining({ code: "invalid_config", message: expect.stringContaining(named) }),
    );
  });
});

describe("how a provider is asked that a chat chooses", () => {
  it("is with its own key, where there is one", () => {
    expect(modelOf("openai", { OPENAI_API_KEY: "o", ANTHROPIC_API_KEY: "a" })).toMatchObject({
      provider: "openai",
      apiKey: "o",
    });
    expect(modelOf("openai", { OPENAI_API_KEY: "o", OPENAI_BASE_URL: OWN })?.baseUrl).toBe(OWN);
    expect(
      modelOf("openrouter", {}, { provider: "openrouter", apiKey: "k", name: "m", window: 9000 }),
    ).toEqual({
      provider: "openrouter",
      apiKey: "k",
      model: "m",
      window: 9000,
    });
    expect(modelOf("compatible", { POSTRIDER_BASE_URL: OWN })).toMatchObject({ baseUrl: OWN });
    expect(modelOf("compatible", { OPENAI_API_KEY: "o" }, { baseUrl: OWN, apiKey: "k" })).toEqual({
      provider: "compatible",
      baseUrl: OWN,
      apiKey: "k",
      model: "default",
    });
  });

  it.each([
    ["openai", {}, {}],
    ["compatible", { OPENAI_API_KEY: "o" }, {}],
    ["openai", { POSTRIDER_API_KEY: "p", POSTRIDER_BASE_URL: OWN }, {}],
    ["openai", { POSTRIDER_API_KEY: "p", POSTRIDER_PROVIDER: "anthropic" }, {}],
    ["openai", {}, { provider: "anthropic", apiKey: "k" }],
    ["openai", {}, { baseUrl: OWN, apiKey: "k" }],
    ["compatible", { POSTRIDER_BASE_URL: OWN, POSTRIDER_PROVIDER: "openai" }, {}],
  ] as const)(
    "is not possible with what was given for another: %s %j %j",
    (provider, environment, configured) => {
      expect(modelOf(provider, environment, configured)).toBeUndefined();
    },
  );

  it("sends nobody else's key to the address that was named for one", () => {
    const environment = { POSTRIDER_BASE_URL: OWN, POSTRIDER_API_KEY: "p", ANTHROPIC_API_KEY: "a" };
    expect(modelOf("anthropic", environment)).toEqual({
      provider: "anthropic",
      apiKey: "a",
      model: "claude-sonnet-5-5",
    });
  });
});
