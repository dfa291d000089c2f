import { expect, it } from "vitest";
import type { Config } from "../config/config.ts";
import { collectSecrets } from "./secrets.ts";

const config = {
  platforms: { telegram: { token: "42:AAE-bot" } },
  model: { apiKey: "sk-model", baseUrl: "https://me:pass-word@host/v1" },
  store: "postgres://me:data-word@host/db",
} as Config;

it("collects the secrets of the configuration and of the environment", () => {
  const environment = { OPENAI_API_KEY: "sk-other", DB_PASSWORD: "hunter22", LANG: "C" };
  expect(collectSecrets(environment, config).toSorted()).toEqual(
    ["42:AAE-bot", "sk-model", "pass-word", "data-word", "sk-other", "hunter22"].toSorted(),
  );
});
