import assert from "node:assert/strict";
import { getText } from "../core/message.ts";
import type { Source } from "../core/source.ts";
import {
  assertSecretFree,
  type CursorValues,
  createOutbound,
  createPlatformSignal,
  type PlatformRule,
  type PlatformServer,
  type ReceivedEvent,
  startListener,
} from "./platform-scene.ts";
import { requireValue, type TestApi } from "./scene.ts";
import { requirePart, skipRule } from "./skip-rule.ts";

/** Messages arrive in order, none is skipped, and they are redelivered until they are stored. */
export function defineReceivingRules({ describe }: TestApi, rule: PlatformRule): void {
  describe("receiving", () => {
    rule("passes text, chat, sender and id of a message, in every kind of chat", async (server) => {
      const listening = startListener(server, server.platform(), new Map());
      for (const [at, chat] of server.chats.entries()) {
        const messageId = await server.say(chat, `hello from ${chat.chatType}`);
        const heard = requireValue((await listening.until(at + 1))[at]);
        assert.equal(heard.kind, "message");
        assert.deepEqual(heard.source, chat);
        assert.equal(heard.messageId, messageId);
        const { message } = heard as ReceivedEvent & { kind: "message" };
        assert.equal(message.role, "user");
        assert.equal(getText(message), `hello from ${chat.chatType}`);
      }
      assert.equal((await listening.stop()).error, undefined);
    });

    rule("keeps the order of messages in a chat", async (server) => {
      const [one, other] = pickTwoChats(server);
      const said = (chat: Source) => Array.from({ length: 12 }, (_, at) => `${chat.chatId} ${at}`);
      for (let at = 0; at < 12; at += 1)
        for (const chat of [one, other]) await server.say(chat, requireValue(said(chat)[at]));
      // A message that is stored slowly must not be overtaken by later ones.
      const listening = startListener(server, server.platform(), new Map(), async () => {
        for (let turn = Math.random() * 5; turn > 0; turn -= 1) await waitTick();
      });
      await listening.until(24);
      await listening.stop();
      for (const chat of [one, other]) assert.deepEqual(listTextsFrom(listening.events, chat), said(chat));
    });

    rule("redelivers a message that was not stored, and reports the failure", async (server) => {
      const [chat] = pickTwoChats(server);
      const messageId = await server.say(chat, "keep this");
      const full = new Error("the disk is full");
      const first = startListener(server, server.platform(), new Map(), () => Promise.reject(full));
      const { error } = await first.ended;
      assert.ok(error !== undefined, "run continues although nothing was stored");

      const second = startListener(server, server.platform(), new Map());
      assert.equal(requireValue((await second.until(1))[0]).messageId, messageId);
      await second.stop();
    });

    rule("redelivers a message that was being stored during a crash", async (server) => {
      const [chat] = pickTwoChats(server);
      const messageId = await server.say(chat, "keep this");
      const stuck = createDeferred();
      const first = startListener(server, server.platform(), new Map(), () => stuck.promise);
      await first.until(1);
      await waitMoment();
      // Without a shutdown: for the platform this process hangs, and another one connects.
      const stopped = first.stop();
      stuck.reject(new Error("the process fell"));
      await stopped;

      const second = startListener(server, server.platform(), new Map());
      assert.equal(requireValue((await second.until(1))[0]).messageId, messageId);
      await second.stop();
    });

    rule("does not delay a chat while a message of another one is stored", async (server) => {
      const [slow, quick] = pickTwoChats(server);
      await server.say(slow, "takes its time");
      await server.say(quick, "is here already");
      const stuck = createDeferred();
      const listening = startListener(server, server.platform(), new Map(), ({ source }) =>
        source.chatId === slow.chatId ? stuck.promise : undefined,
      );
      await listening.until(2);
      assert.deepEqual(listTextsFrom(listening.events, quick), ["is here already"]);
      stuck.resolve();
      assert.equal((await listening.stop()).error, undefined);
    });

    rule("never moves its cursor past an update that is not stored", async (server) => {
      const [slow, quick] = pickTwoChats(server);
      await server.say(slow, "not stored");
      await server.say(quick, "stored");
      const cursors: CursorValues = new Map();
      const stuck = createDeferred();
      const stored = createDeferred();
      const first = startListener(server, server.platform(), cursors, ({ source }) => {
        if (source.chatId === slow.chatId) return stuck.promise;
        stored.resolve();
        return undefined;
      });
      await first.until(2);
      await stored.promise;
      await waitTick();
      const stopped = first.stop();
      stuck.reject(new Error("the process fell"));
      await stopped;

      const second = startListener(server, server.platform(), cursors);
      for (let count = 1; !listTextsFrom(second.events, slow).includes("not stored"); count += 1)
        await second.until(count);
      await second.stop();
    });

    rule("continues after its cursor", async (server) => {
      const [chat] = pickTwoChats(server);
      const cursors: CursorValues = new Map();
      const first = startListener(server, server.platform(), cursors);
      await server.say(chat, "before");
      await first.until(1);
      await first.stop();
      if (cursors.size === 0) skipRule("the platform has no cursor: its server knows what was acknowledged");

      await server.say(chat, "after");
      const second = startListener(server, server.platform(), cursors);
      await second.until(1);
      await second.stop();
      assert.deepEqual(listTextsFrom(second.events, chat), ["after"]);
    });

    rule("passes a redelivered message with the same id", async (server) => {
      const bringAgain = requirePart(server.redeliver, "the other side cannot bring a message twice");
      const [chat] = pickTwoChats(server);
      const listening = startListener(server, server.platform(), new Map());
      const messageId = await server.say(chat, "once");
      await listening.until(1);
      await bringAgain(chat);
      const twice = await listening.until(2);
      await listening.stop();
      assert.deepEqual(
        twice.map((heard) => heard.messageId),
        [messageId, messageId],
      );
    });

    rule("never passes its own messages", async (server) => {
      const [chat] = pickTwoChats(server);
      const platform = server.platform();
      const listening = startListener(server, platform, new Map());
      await server.say(chat, "hello");
      await listening.until(1);
      for (const words of ["I am the bot", "/stop"])
        assert.equal(
          (await platform.send(createOutbound(chat, words), createPlatformSignal())).state,
          "sent",
        );
      await server.say(chat, "are you there?");
      await listening.until(2);
      await listening.stop();
      assert.deepEqual(listTextsFrom(listening.events, chat), ["hello", "are you there?"]);
    });

    rule("keeps emoji, line breaks and special characters", async (server) => {
      const [chat] = pickTwoChats(server);
      const words = 'Zoë & <b>"Bob"</b> 👩🏽‍🚀 نعم\n\n*a* _b_ `c` [d](e) \\ 1 < 2';
      const listening = startListener(server, server.platform(), new Map());
      await server.say(chat, words);
      await listening.until(1);
      await listening.stop();
      assert.deepEqual(listTextsFrom(listening.events, chat), [words]);
    });

    rule("passes edits, with the time of the original message", async (server) => {
      const editSaid = requirePart(server.editMessage, "the platform is not told of edits");
      const [chat] = pickTwoChats(server);
      const listening = startListener(server, server.platform(), new Map());
      const messageId = await server.say(chat, "buy eggs");
      const [said] = await listening.until(1);
      await editSaid(chat, messageId, "buy ten eggs");
      const edited = requireValue((await listening.until(2))[1]);
      await listening.stop();
      assert.equal(edited.kind, "edited");
      assert.equal(edited.messageId, messageId);
      assert.equal(getText((edited as ReceivedEvent & { kind: "edited" }).message), "buy ten eggs");
      const { message } = requireValue(said) as ReceivedEvent & { kind: "message" };
      assert.equal((edited as ReceivedEvent & { kind: "edited" }).sentAt, message.at);
    });

    rule("passes deletions", async (server) => {
      const takeBack = requirePart(server.deleteMessage, "the platform is not told of deleted messages");
      const [chat] = pickTwoChats(server);
      const listening = startListener(server, server.platform(), new Map());
      const messageId = await server.say(chat, "forget it");
      await listening.until(1);
      await takeBack(chat, messageId);
      const gone = requireValue((await listening.until(2))[1]);
      await listening.stop();
      assert.deepEqual([gone.kind, gone.messageId], ["deleted", messageId]);
    });

    rule("passes the line of a pressed button, each press with a unique id", async (server) => {
      const press = requirePart(server.press, "the platform has no buttons");
      const [chat] = pickTwoChats(server);
      const platform = server.platform();
      const listening = startListener(server, platform, new Map());
      const messageId = await server.say(chat, "hello");
      await listening.until(1);
      const buttons = [[{ label: "Yes", line: "/approve 7" }], [{ label: "No", line: "/deny 7" }]];
      const sent = await platform.send(createOutbound(chat, "May I?", { buttons }), createPlatformSignal());
      assert.ok(sent.state === "sent");
      for (const line of ["/deny 7", "/deny 7"]) await press(chat, sent.messageId, line);
      const pressed = (await listening.until(3)).slice(1);
      await listening.stop();
      assert.deepEqual(
        pressed.map((heard) => [heard.kind, "line" in heard && heard.line, heard.source.userId]),
        Array.from({ length: 2 }, () => ["pressed", "/deny 7", chat.userId]),
      );
      const ids = [messageId, ...pressed.map((heard) => heard.messageId)];
      assert.equal(new Set(ids).size, 3, "a press has an id that no message and no other press has");
    });
  });

  describe("the connection", () => {
    rule("is reported before the first message, and ends when the signal aborts", async (server) => {
      const listening = startListener(server, server.platform(), new Map());
      await listening.connected;
      assert.equal((await listening.stop()).error, undefined);
    });

    rule("ends at once if the signal was aborted before the start", async (server) => {
      const platform = server.platform();
      const unasked = (): never => assert.fail("it receives after the abort");
      const receiver = {
        canSpeak: unasked,
        receiveMessage: unasked,
        receiveEdit: unasked,
        receiveDeletion: unasked,
        receivePress: unasked,
        markConnected: () => {},
        getCursor: () => Promise.resolve(undefined),
      };
      await platform.run(receiver, AbortSignal.abort());
    });

    rule("fails with wrong credentials, without revealing them", async (server) => {
      const { error } = await startListener(server, server.unauthorizedPlatform(), new Map()).ended;
      assert.equal((error as { code?: unknown }).code, "platform_refused");
      assertSecretFree(error, server.secrets);
    });

    rule("fails with `platform_down` if the server is unreachable", async (server) => {
      const { error } = await startListener(server, server.unreachablePlatform(), new Map()).ended;
      assert.equal((error as { code?: unknown }).code, "platform_down");
      assertSecretFree(error, server.secrets);
    });
  });
}

/** Two different chats. */
export function pickTwoChats({ chats }: Pick<PlatformServer, "chats">): [Source, Source] {
  const one = requireValue(chats[0]);
  const other = chats.find(({ chatId }) => chatId !== one.chatId);
  return [one, requireValue(other)];
}

function listTextsFrom(heard: readonly ReceivedEvent[], { chatId }: Source): string[] {
  const said = heard.filter((one): one is ReceivedEvent & { kind: "message" } => one.kind === "message");
  return said.filter(({ source }) => source.chatId === chatId).map(({ message }) => getText(message));
}

function createDeferred(): {
  readonly promise: Promise<void>;
  readonly resolve: () => void;
  readonly reject: (error: Error) => void;
} {
  return Promise.withResolvers<void>();
}

/** Enough time for a wrong acknowledgement to be sent. */
function waitMoment(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, 100));
}

function waitTick(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
