import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import type { Outbound, Platform, SendOutcome } from "../ports/platform.ts";
import { pickTwoChats } from "./contract-receiving.ts";
import {
  assertSecretFree,
  createOutbound,
  createPlatformSignal,
  type PlatformRule,
  type PlatformServer,
  type SentMessage,
  type ServerFault,
  startListener,
} from "./platform-scene.ts";
import { requireValue, type TestApi } from "./scene.ts";
import { requirePart, skipRule } from "./skip-rule.ts";

/** A message is sent once, and its outcome is reported correctly. */
export function defineSendingRules({ describe }: TestApi, rule: PlatformRule): void {
  /** After a message from every chat, because a bot may only write to people who wrote first. */
  const sending = (
    promise: string,
    proof: (server: PlatformServer, platform: Platform) => Promise<void>,
  ): void =>
    rule(promise, async (server) => {
      const platform = server.platform();
      const listening = startListener(server, platform, new Map());
      for (const [at, chat] of server.chats.entries()) {
        await server.say(chat, "hello");
        await listening.until(at + 1);
      }
      try {
        await proof(server, platform);
      } finally {
        await listening.stop();
      }
    });
  const troubled = (
    kind: ServerFault["kind"],
    promise: string,
    proof: (server: PlatformServer, platform: Platform) => Promise<void>,
  ): void =>
    sending(promise, async (server, platform) => {
      if (!server.supportedFaults.includes(kind)) skipRule(`the server has no fault "${kind}"`);
      await server.injectFault(kind === "wait" ? { kind, ms: 7000 } : { kind });
      await proof(server, platform);
    });

  describe("sending", () => {
    sending("sends the message to its chat, once, and returns its id", async (server, platform) => {
      for (const chat of server.chats) {
        const words = `for ${chat.chatType} ${chat.threadId ?? ""}`.trim();
        const sent = await platform.send(createOutbound(chat, words), createPlatformSignal());
        assert.deepEqual(await listSentTexts(server, chat), [[requireMessageId(sent), words]]);
      }
    });

    sending("keeps the order of messages", async (server, platform) => {
      const [chat] = pickTwoChats(server);
      const words = ["one", "two", "three", "four"];
      for (const word of words)
        assert.ok(requireMessageId(await platform.send(createOutbound(chat, word), createPlatformSignal())));
      assert.deepEqual(
        (await server.listSent(chat)).map(({ text }) => text),
        words,
      );
    });

    sending("sends a text of the maximum length completely", async (server, platform) => {
      const { messageLimit } = platform.traits;
      if (messageLimit === Number.MAX_SAFE_INTEGER) skipRule("the platform has no limit of length");
      const [chat] = pickTwoChats(server);
      for (const words of ["x".repeat(messageLimit), "🐎".repeat(Math.floor(messageLimit / 2))]) {
        requireMessageId(await platform.send(createOutbound(chat, words), createPlatformSignal()));
        assert.equal((await server.listSent(chat)).at(-1)?.text, words);
      }
    });

    sending("keeps emoji, line breaks and special characters", async (server, platform) => {
      const [chat] = pickTwoChats(server);
      const words = 'Zoë & Bob: 1 < 2 > 0 "so" 👩🏽‍🚀 نعم\n\nend. (really!) #1 a=b {c} + d - e | f ~ g';
      requireMessageId(await platform.send(createOutbound(chat, words), createPlatformSignal()));
      assert.equal((await server.listSent(chat)).at(-1)?.text, words);
    });

    sending("marks the message as a reply", async (server, platform) => {
      const [chat] = pickTwoChats(server);
      const replyTo = await server.say(chat, "which one?");
      requireMessageId(
        await platform.send(createOutbound(chat, "this one", { replyTo }), createPlatformSignal()),
      );
      const shown = requireValue((await server.listSent(chat)).at(-1));
      if (!("replyTo" in shown)) skipRule("the server does not show replies");
      assert.equal(shown.replyTo, replyTo);
    });

    sending("succeeds if the message that it replies to was deleted", async (server, platform) => {
      const remove = requirePart(
        server.removeSilently ?? server.deleteMessage,
        "the server cannot remove a message",
      );
      const [chat] = pickTwoChats(server);
      const replyTo = await server.say(chat, "never mind");
      await remove(chat, replyTo);
      requireMessageId(
        await platform.send(createOutbound(chat, "too late", { replyTo }), createPlatformSignal()),
      );
      assert.equal((await server.listSent(chat)).at(-1)?.text, "too late");
    });

    sending("sends files with their bytes", async (server, platform) => {
      const [chat] = pickTwoChats(server);
      const bytes = new TextEncoder().encode("a small file\0");
      const blob = createHash("sha256").update(bytes).digest("hex");
      const file = { type: "file" as const, blob, mimeType: "text/plain", size: bytes.length, name: "a.txt" };
      const caption = { type: "text" as const, text: "here it is" };
      const out: Outbound = {
        ...createOutbound(chat, ""),
        parts: [caption, file],
        blob: async (hash) => (hash === blob ? bytes : undefined),
      };
      const sent = await platform.send(out, createPlatformSignal());
      if (sent.state === "refused") skipRule(`the platform sends no files: ${sent.reason}`);
      requireMessageId(sent);
      const shown = requireValue((await server.listSent(chat)).at(-1));
      const files = requirePart(shown.files, "the other side does not show the bytes of files");
      assert.deepEqual(files, [Buffer.from(bytes).toString("base64")]);
    });

    troubled("refuse", "reports a rejected message", async (server, platform) => {
      const [chat] = pickTwoChats(server);
      const sent = await platform.send(createOutbound(chat, "spam"), createPlatformSignal());
      assertState(sent, ["refused"], server);
      assert.deepEqual(await server.listSent(chat), []);
    });

    troubled("wait", "reports that it must wait, and how long", async (server, platform) => {
      const [chat] = pickTwoChats(server);
      const sent = await platform.send(createOutbound(chat, "again"), createPlatformSignal());
      assertState(sent, ["not_sent"], server);
      assert.ok(sent.state === "not_sent" && (sent.retryAfterMs ?? 0) >= 7000, JSON.stringify(sent));
      assert.ok(!("cause" in sent), JSON.stringify(sent));
      assert.deepEqual(await server.listSent(chat), []);
      requireMessageId(await platform.send(createOutbound(chat, "again"), createPlatformSignal()));
    });

    troubled(
      "fail",
      "reports a message that did not arrive, or an unknown outcome",
      async (server, platform) => {
        const [chat] = pickTwoChats(server);
        const sent = await platform.send(createOutbound(chat, "hello?"), createPlatformSignal());
        assertState(sent, ["not_sent", "unknown"], server);
      },
    );

    troubled("error", "reports that the error was about this message", async (server, platform) => {
      const [chat] = pickTwoChats(server);
      const sent = await platform.send(createOutbound(chat, "hello?"), createPlatformSignal());
      assertState(sent, ["not_sent"], server);
      assert.equal("cause" in sent && sent.cause, "message");
      assert.deepEqual(await server.listSent(chat), []);
    });

    sending("reports an unreachable server as not sent, without the message as the cause", async (server) => {
      const [chat] = pickTwoChats(server);
      const sent = await server
        .unreachablePlatform()
        .send(createOutbound(chat, "hello?"), createPlatformSignal());
      assertState(sent, ["not_sent"], server);
      assert.ok(!("cause" in sent), JSON.stringify(sent));
    });

    sending("reports a message as not sent if the signal was aborted before", async (server, platform) => {
      const [chat] = pickTwoChats(server);
      const sent = await platform.send(createOutbound(chat, "no"), AbortSignal.abort());
      assertState(sent, ["not_sent"], server);
      assert.deepEqual(await server.listSent(chat), []);
    });

    troubled(
      "cut",
      "reports an unknown outcome after a broken connection, and is repeated only as its traits allow",
      async (server, platform) => {
        const [chat] = pickTwoChats(server);
        const out = createOutbound(chat, "did you get it?");
        const cut = await platform.send(out, createPlatformSignal());
        assertState(cut, ["unknown"], server);
        const [shown, ...more] = await server.listSent(chat);
        assert.deepEqual([shown?.text, more], ["did you get it?", []], "it retried by itself");

        if (platform.traits.outbound === "idempotent") {
          const again = await platform.send(out, createPlatformSignal());
          assert.deepEqual(again, { state: "sent", messageId: requireValue(shown).messageId });
          assert.equal((await server.listSent(chat)).length, 1);
        }
      },
    );

    troubled(
      "cut",
      "finds the message of an earlier attempt by its nonce, if it can be looked up",
      async (server, platform) => {
        if (platform.traits.outbound !== "can_be_looked_up")
          skipRule("the platform cannot look up sent messages");
        const lookUp = requireValue(platform.lookUp?.bind(platform));
        const [chat] = pickTwoChats(server);
        const out = createOutbound(chat, "did you get it?");
        assert.equal(await lookUp(out, createPlatformSignal()), undefined);
        await platform.send(out, createPlatformSignal());
        assert.equal(
          await lookUp(out, createPlatformSignal()),
          requireValue((await server.listSent(chat))[0]).messageId,
        );
        const other = createOutbound(chat, out.parts[0]?.type === "text" ? out.parts[0].text : "");
        assert.equal(
          await lookUp(other, createPlatformSignal()),
          undefined,
          "equal texts are not the same message",
        );
      },
    );

    troubled(
      "silence",
      "reports an unknown outcome if it is aborted during the request",
      async (server, platform) => {
        const [chat] = pickTwoChats(server);
        const leaving = new AbortController();
        const sending = platform.send(createOutbound(chat, "hello?"), leaving.signal);
        while ((await server.listSent(chat)).length === 0) await new Promise(setImmediate);
        leaving.abort();
        assertState(await sending, ["unknown"], server);
      },
    );
  });

  describe("editing", () => {
    const editing = (
      promise: string,
      proof: (
        server: PlatformServer,
        edit: NonNullable<Platform["edit"]>,
        platform: Platform,
      ) => Promise<void>,
    ): void =>
      sending(promise, async (server, platform) => {
        const edit = requirePart(platform.edit?.bind(platform), "the platform cannot edit messages");
        await proof(server, edit, platform);
      });

    editing(
      "replaces the message, and a repetition has no further effect",
      async (server, edit, platform) => {
        const [chat] = pickTwoChats(server);
        const draft = createOutbound(chat, "thinking");
        const messageId = requireMessageId(await platform.send(draft, createPlatformSignal()));
        const whole = { ...draft, parts: [{ type: "text" as const, text: "the answer & more" }] };
        for (let time = 0; time < 3; time += 1) {
          assert.deepEqual(await edit(whole, messageId, createPlatformSignal()), {
            state: "sent",
            messageId,
          });
          assert.deepEqual(await listSentTexts(server, chat), [[messageId, "the answer & more"]]);
        }
      },
    );

    editing("reports that the message does not exist", async (server, edit) => {
      const [chat] = pickTwoChats(server);
      const gone = await edit(createOutbound(chat, "hello"), "987654321", createPlatformSignal());
      assert.deepEqual(gone, { state: "gone" });
      assert.deepEqual(await server.listSent(chat), []);
    });

    editing("reports when it must wait", async (server, edit, platform) => {
      if (!server.supportedFaults.includes("wait")) skipRule('the server has no fault "wait"');
      const [chat] = pickTwoChats(server);
      const out = createOutbound(chat, "hello");
      const messageId = requireMessageId(await platform.send(out, createPlatformSignal()));
      await server.injectFault({ kind: "wait", ms: 7000 });
      const waited = await edit(out, messageId, createPlatformSignal());
      assert.ok(waited.state === "not_sent" && (waited.retryAfterMs ?? 0) >= 7000, JSON.stringify(waited));
    });

    editing("reports an unreachable server", async (server, _, platform) => {
      const [chat] = pickTwoChats(server);
      const out = createOutbound(chat, "hello");
      const messageId = requireMessageId(await platform.send(out, createPlatformSignal()));
      const failed = requireValue(
        await server.unreachablePlatform().edit?.(out, messageId, createPlatformSignal()),
      );
      assert.ok(failed.state !== "gone");
      assertState(failed, ["not_sent"], server);
    });
  });

  describe("the typing indicator and the menu", () => {
    sending("works, and ignores failures", async (server, platform) => {
      if (platform.sendTyping === undefined && platform.setMenu === undefined)
        skipRule("the platform shows neither typing nor a menu");
      const [chat] = pickTwoChats(server);
      await platform.sendTyping?.(chat, createPlatformSignal());
      await platform.setMenu?.([{ name: "new", summary: "Start afresh" }], createPlatformSignal());
      await server.unreachablePlatform().sendTyping?.(chat, createPlatformSignal());
      assert.deepEqual(await server.listSent(chat), []);
    });
  });
}

function requireMessageId(sent: SendOutcome): string {
  assert.ok(sent.state === "sent", `it was not sent: ${JSON.stringify(sent)}`);
  assert.match(sent.messageId, /\S/);
  return sent.messageId;
}

function assertState(
  sent: SendOutcome,
  states: readonly SendOutcome["state"][],
  { secrets }: PlatformServer,
): void {
  assert.ok(states.includes(sent.state), `expected ${states.join(" or ")}, got ${JSON.stringify(sent)}`);
  assert.ok("reason" in sent && /\w/.test(sent.reason), "the reason is missing");
  assertSecretFree(sent, secrets);
}

async function listSentTexts(
  server: PlatformServer,
  chat: Parameters<PlatformServer["listSent"]>[0],
): Promise<[string, string][]> {
  return (await server.listSent(chat)).map(({ messageId, text }: SentMessage) => [messageId, text]);
}
