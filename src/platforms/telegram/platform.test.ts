import { once } from "node:events";
import { type AddressInfo, createServer } from "node:net";
import { afterAll, beforeAll, describe, it } from "vitest";
import { noWaiting } from "../../../test/support/telegram.ts";
import { type Source, source } from "../../core/source.ts";
import type { Platform } from "../../ports/platform.ts";
import { type FakeTelegram, startFakeTelegram } from "../../testing/fake-telegram/index.ts";
import { type PlatformServer, platformContract, type ServerFault } from "../../testing/index.ts";
import { telegram } from "./platform.ts";

/** A port without a listener. */
let nowhere: string;
let fake: FakeTelegram | undefined;

beforeAll(async () => {
  const gone = createServer().listen(0, "127.0.0.1");
  await once(gone, "listening");
  nowhere = `http://127.0.0.1:${(gone.address() as AddressInfo).port}`;
  gone.close();
});

afterAll(() => fake?.close());

describe("Telegram", () => {
  platformContract({ describe, it }, { open: otherSide, destroy: async () => fake?.close() });
});

async function otherSide(): Promise<PlatformServer> {
  const server = await startFakeTelegram();
  fake = server;
  const user = { userId: 7, userName: "Ann" };
  await server.addUser({ id: 7, firstName: "Ann" });
  const dm = await server.openDm(7);
  const group = await server.openGroup({ title: "Stable" });
  const forum = await server.openGroup({ title: "Riders", forum: true });
  const topic = await server.openTopic(forum, "Horses");
  const channel = await server.openChannel("News");
  const at = { platform: "telegram" };
  const places = [
    source({ ...at, chatId: dm, chatType: "dm", chatName: "Ann", ...user }),
    source({ ...at, chatId: group, chatType: "group", chatName: "Stable", ...user }),
    source({ ...at, chatId: forum, chatType: "group", chatName: "Riders", threadId: topic, ...user }),
    source({ ...at, chatId: channel, chatType: "channel", chatName: "News" }),
  ];
  const connect = (token: string, apiRoot: string): Platform =>
    telegram({ token, apiRoot, requireMention: false, timing: noWaiting() });
  const chatOf = (place: Source): number => Number(place.chatId);

  return {
    platform: () => connect(server.token, server.url),
    unauthorizedPlatform: () => connect("42:wrong-token", server.url),
    unreachablePlatform: () => connect(server.token, nowhere),
    secrets: [server.token, "fake-token", "42:wrong-token", "wrong-token"],
    chats: places,
    async say(place, words) {
      const topicId = place.threadId === undefined ? {} : { topic: Number(place.threadId) };
      const user = place.userId === undefined ? null : Number(place.userId);
      return String(await server.say(chatOf(place), user, words, topicId));
    },
    editMessage: (place, messageId, words) => server.edit(chatOf(place), Number(messageId), words),
    async press(place, messageId, line) {
      const sent = (await server.messages(chatOf(place))).find(({ id }) => String(id) === messageId);
      const label = sent?.buttons.flat().find(({ data }) => data === `=${line}`)?.label ?? "";
      await server.press(chatOf(place), Number(messageId), Number(place.userId), label);
    },
    removeSilently: (place, messageId) => server.remove(chatOf(place), Number(messageId)),
    redeliver: (place) => server.redeliver(chatOf(place)),
    async listSent(place) {
      const sent = (await server.messages(chatOf(place))).filter(({ by }) => by === "bot");
      return Promise.all(
        sent.map(async ({ id, text, replyTo, files }) => ({
          messageId: String(id),
          text,
          ...(replyTo !== undefined && { replyTo: String(replyTo) }),
          files: await Promise.all(
            files.map(async (file) => Buffer.from((await server.file(file.id)) ?? []).toString("base64")),
          ),
        })),
      );
    },
    async injectFault(trouble) {
      for (const method of ["sendMessage", "editMessageText"])
        await server.failNext(method, faultFor(trouble));
    },
    supportedFaults: ["refuse", "wait", "fail", "error", "cut", "silence"],
  };
}

function faultFor(trouble: ServerFault): Parameters<FakeTelegram["failNext"]>[1] {
  switch (trouble.kind) {
    case "refuse":
      return { kind: "error", code: 403, description: "Forbidden: bot was blocked by the user" };
    case "wait": {
      const seconds = Math.ceil(trouble.ms / 1000);
      const description = `Too Many Requests: retry after ${seconds}`;
      return { kind: "error", code: 429, description, parameters: { retry_after: seconds } };
    }
    case "fail":
      return { kind: "badGateway" };
    case "error":
      return { kind: "error", code: 500, description: "Internal Server Error" };
    case "cut":
      return { kind: "dropAfter" };
    case "silence":
      return { kind: "hang", after: true };
  }
}
