import { describe, expect, it } from "vitest";
import { selectModel, selectProviderModel } from "./select-model.ts";

const OWN = "http://localhost:11434/v1";

describe("the selected model", () => {
  it("is none without settings", () => {
    expect(selectModel({})).toBeUndefined();
    expect(selectModel({}, { name: "m", window: 9000 })).toBeUndefined();
  });

  it("is of the first provider with a key in the environment", () => {
    expect(selectModel({ OPENAI_API_KEY: "o", ANTHROPIC_API_KEY: "a" })).toMatchObject({
      provider: "anthropic",
      apiKey: "a",
    });
    expect(selectModel({ OPENAI_API_KEY: "o", OPENAI_BASE_URL: OWN, POSTRIDER_MODEL: "m" })).toEqual({
      provider: "openai",
      model: "m",
      apiKey: "o",
      baseUrl: OWN,
    });
  });

  it.each(["GEMINI_API_KEY", "GOOGLE_GENERATIVE_AI_API_KEY"])("is Google's for a key in %s", (variable) => {
    const environment = { [variable]: "g", OPENROUTER_API_KEY: "r" };
    expect(selectModel(environment)).toEqual({
      provider: "google",
      model: "gemini-flash-latest",
      apiKey: "g",
    });
    expect(selectProviderModel("google", { ...environment, POSTRIDER_BASE_URL: OWN })?.apiKey).toBe("g");
  });

  it("is at the address of the environment before all others", () => {
    const environment = { POSTRIDER_BASE_URL: OWN, OPENAI_API_KEY: "o", ANTHROPIC_API_KEY: "a" };
    expect(selectModel(environment)).toEqual({
      provider: "compatible",
      model: "default",
      baseUrl: OWN,
      apiKey: "o",
    });
  });

  it("is of the configured provider, and the environment's key overrides the configured one", () => {
    const configured = { provider: "openai", name: "m", apiKey: "k", window: 9000 } as const;
    expect(selectModel({ ANTHROPIC_API_KEY: "a" }, configured)).toEqual({
      provider: "openai",
      model: "m",
      apiKey: "k",
      window: 9000,
    });
    expect(selectModel({ OPENAI_API_KEY: "o" }, configured)?.apiKey).toBe("o");
    expect(selectModel({ POSTRIDER_MODEL: "other" }, configured)).toEqual({
      provider: "openai",
      model: "other",
      apiKey: "k",
    });
  });

  it("is at the configured address, which never gets OpenAI's own key", () => {
    expect(selectModel({ OPENAI_API_KEY: "o" }, { baseUrl: OWN })).toEqual({
      provider: "compatible",
      model: "default",
      baseUrl: OWN,
    });
    expect(selectModel({ POSTRIDER_API_KEY: "p" }, { baseUrl: OWN, apiKey: "k" })?.apiKey).toBe("p");
  });

  it("never gets a key of another provider or another address", () => {
    const elsewhere = { POSTRIDER_BASE_URL: "http://elsewhere" };
    expect(selectModel(elsewhere, { provider: "anthropic", apiKey: "k", name: "m" })).toEqual({
      provider: "compatible",
      model: "default",
      baseUrl: "http://elsewhere",
    });
    expect(selectModel(elsewhere, { baseUrl: OWN, apiKey: "k" })?.apiKey).toBeUndefined();
    expect(selectModel({ POSTRIDER_BASE_URL: OWN }, { baseUrl: OWN, apiKey: "k" })?.apiKey).toBe("k");
    const chosen = { POSTRIDER_PROVIDER: "openai", OPENAI_API_KEY: "o" };
    expect(selectModel(chosen, { provider: "anthropic", apiKey: "k" })?.apiKey).toBe("o");
  });

  it.each([
    [{}, { provider: "anthropic" }, "ANTHROPIC_API_KEY"],
    [{}, { provider: "compatible" }, "model.base_url"],
    [{}, { apiKey: "k" }, "model.provider"],
    [{ POSTRIDER_PROVIDER: "closedai" }, {}, "POSTRIDER_PROVIDER"],
    [{ POSTRIDER_MODEL_WINDOW: "big", OPENAI_API_KEY: "o" }, {}, "POSTRIDER_MODEL_WINDOW"],
  ] as const)("reports missing and invalid settings: %j %j", (environment, configured, named) => {
    expect(() => selectModel(environment, configured)).toThrow(
      expect.objectContaining({ code: "invalid_config", message: expect.stringContaining(named) }),
    );
  });
});

describe("a provider that a chat chooses", () => {
  it("gets its own key, if there is one", () => {
    expect(selectProviderModel("openai", { OPENAI_API_KEY: "o", ANTHROPIC_API_KEY: "a" })).toMatchObject({
      provider: "openai",
      apiKey: "o",
    });
    expect(selectProviderModel("openai", { OPENAI_API_KEY: "o", OPENAI_BASE_URL: OWN })?.baseUrl).toBe(OWN);
    expect(
      selectProviderModel("openrouter", {}, { provider: "openrouter", apiKey: "k", name: "m", window: 9000 }),
    ).toEqual({
      provider: "openrouter",
      apiKey: "k",
      model: "m",
      window: 9000,
    });
    expect(selectProviderModel("compatible", { POSTRIDER_BASE_URL: OWN })).toMatchObject({ baseUrl: OWN });
    expect(selectProviderModel("compatible", { OPENAI_API_KEY: "o" }, { baseUrl: OWN, apiKey: "k" })).toEqual(
      {
        provider: "compatible",
        baseUrl: OWN,
        apiKey: "k",
        model: "default",
      },
    );
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
      expect(selectProviderModel(provider, environment, configured)).toBeUndefined();
    },
  );

  it("never gets the key of another address", () => {
    const environment = { POSTRIDER_BASE_URL: OWN, POSTRIDER_API_KEY: "p", ANTHROPIC_API_KEY: "a" };
    expect(selectProviderModel("anthropic", environment)).toEqual({
      provider: "anthropic",
      apiKey: "a",
      model: "claude-sonnet-5-5",
    });
  });
});
