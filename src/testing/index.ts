export { type AgentCase, type AgentHarness, agentContract } from "./agent-contract.ts";
export {
  type ChatMessage,
  type FakeControls,
  type FakeTelegram,
  type FakeTelegramOptions,
  type Faults,
  type NextFault,
  startFakeTelegram,
} from "./fake-telegram/index.ts";
export { platformContract } from "./platform-contract.ts";
export type {
  PlatformHarness,
  PlatformServer,
  SentMessage,
  ServerFault,
} from "./platform-scene.ts";
export type { StoreHarness, TestApi } from "./scene.ts";
export type { TestBody } from "./skip-rule.ts";
export { storeContract } from "./store-contract.ts";
