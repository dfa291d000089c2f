// The contract suite for the platform of example 08.
//
//   node --import ./examples/resolve.mjs --test examples/08-own-platform.test.ts

import { describe, it } from "node:test";
import { type Source, source } from "postrider/platform";
import { type PlatformServer, platformContract, type ServerFault } from "postrider/testing";
import { lineHub } from "./line-hub/platform.ts";
import { type HubFault, type LineHubServer, startLineHub } from "./line-hub/server.ts";

const FAULTS: Readonly<Record<ServerFault["kind"], HubFault>> = {
  refuse: { refused: "Nobody wants this." },
  wait: { wait: 7000 },
  fail: { busy: true },
  error: { error: "This message cannot be taken now." },
  cut: "cut",
  silence: "silence",
};

const person = (user: string, chat: string, chatType: "dm" | "group"): Source =>
  source({ platform: "line_hub", chatId: chat, chatType, userId: user, userName: user });

let hub: LineHubServer | undefined;

async function open(): Promise<PlatformServer> {
  const server = await startLineHub();
  hub = server;
  const options = { host: "127.0.0.1", port: server.port, account: "rider", token: server.token };
  return {
    platform: () => lineHub(options),
    unauthorizedPlatform: () => lineHub({ ...options, token: "wrong-token" }),
    unreachablePlatform: () => lineHub({ ...options, port: 1 }),
    secrets: [server.token, "wrong-token"],
    chats: [person("ann", "ann", "dm"), person("bob", "riders", "group")],
    say: async ({ chatId, chatType, userId = "" }, text) =>
      server.say({ chat: chatId, type: chatType === "dm" ? "dm" : "group", user: userId, text }),
    redeliver: async ({ chatId }) => server.redeliver(chatId),
    listSent: async ({ chatId }) => server.listSent(chatId),
    injectFault: async ({ kind }) => server.failNext(FAULTS[kind]),
    supportedFaults: Object.keys(FAULTS) as ServerFault["kind"][],
  };
}

describe("the line hub", () => {
  platformContract({ describe, it }, { open, destroy: async () => hub?.close() });
});
