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

/** What is sent arrives once, and what became of it is told as it is. */
export function defineSendingRules({ describe }: TestApi, rule: PlatformRule): void {
  /** With every place opened: nobody is written to who has not spoken. */
  const sending = (
    promise: string,
    proof: (there: PlatformServer, platform: Platform) => Promise<void>,
  ): void =>
    rule(promise, async (there) => {
      const platform = there.platform();
      const listening = startListener(there, platform, new Map());
      for (const [at, place] of there.chats.entries()) {
        await there.say(place, "hello");
        await listening.until(at + 1);
      }
      try {
        await proof(there, platform);
      } finally {
        await listening.stop();
      }
    });
  const troubled = (
    kind: ServerFault["kind"],
    promise: string,
    proof: (there: PlatformServer, platform: Platform) => Promise<void>,
  ): void =>
    sending(promise, async (there, platform) => {
      if (!there.supportedFaults.includes(kind)) skipRule(`the other side has no trouble "${kind}"`);
      await there.injectFault(kind === "wait" ? { kind, ms: 7000 } : { kind });
      await proof(there, platform);
    });

  describe("sending", () => {
    sending(
      "puts the message where it belongs, once, under the id that it tells",
      async (there, platform) => {
        for (const place of there.chats) {
          const words = `for ${place.chatType} ${place.threadId ?? ""}`.trim();
          const sent = await platform.send(createOutbound(place, words), createPlatformSignal());
          assert.deepEqual(await listSentTexts(there, place), [[requireMessageId(sent), words]]);
        }
      },
    );

    sending("keeps the order of what is sent one after the other", async (there, platform) => {
      const [place] = pickTwoChats(there);
      const words = ["one", "two", "three", "four"];
      for (const word of words)
        assert.ok(requireMessageId(await platform.send(createOutbound(place, word), createPlatformSignal())));
      assert.deepEqual(
        (await there.listSent(place)).map(({ text }) => text),
        words,
      );
    });

    sending("carries a text of the greatest length whole", async (there, platform) => {
      const { messageLimit } = platform.traits;
      if (messageLimit === Number.MAX_SAFE_INTEGER) skipRule("the platform has no limit of length");
      const [place] = pickTwoChats(there);
      for (const words of ["x".repeat(messageLimit), "🐎".repeat(Math.floor(messageLimit / 2))]) {
        requireMessageId(await platform.send(createOutbound(place, words), createPlatformSignal()));
        assert.equal((await there.listSent(place)).at(-1)?.text, words);
      }
    });

    sending("keeps emoji, line breaks and signs that mean something elsewhere", async (there, platform) => {
      const [place] = pickTwoChats(there);
      const words = 'Zoë & Bob: 1 < 2 > 0 "so" 👩🏽‍🚀 نعم\n\nend. (really!) #1 a=b {c} + d - e | f ~ g';
      requireMessageId(await platform.send(createOutbound(place, words), createPlatformSignal()));
      assert.equal((await there.listSent(place)).at(-1)?.text, words);
    });

    sending("says which message it answers", async (there, platform) => {
      const [place] = pickTwoChats(there);
      const replyTo = await there.say(place, "which one?");
      requireMessageId(
        await platform.send(createOutbound(place, "this one", { replyTo }), createPlatformSignal()),
      );
      const shown = requireValue((await there.listSent(place)).at(-1));
      if (!("replyTo" in shown)) skipRule("the other side does not show what a message answers");
      assert.equal(shown.replyTo, replyTo);
    });

    sending("still arrives when what it answers is gone", async (there, platform) => {
      const remove = requirePart(
        there.removeSilently ?? there.deleteMessage,
        "the other side cannot remove a message",
      );
      const [place] = pickTwoChats(there);
      const replyTo = await there.say(place, "never mind");
      await remove(place, replyTo);
      requireMessageId(
        await platform.send(createOutbound(place, "too late", { replyTo }), createPlatformSignal()),
      );
      assert.equal((await there.listSent(place)).at(-1)?.text, "too late");
    });

    sending("brings files with their bytes", async (there, platform) => {
      const [place] = pickTwoChats(there);
      const bytes = new TextEncoder().encode("a small file\0");
      const blob = createHash("sha256").update(bytes).digest("hex");
      const file = { type: "file" as const, blob, mimeType: "text/plain", size: bytes.length, name: "a.txt" };
      const caption = { type: "text" as const, text: "here it is" };
      const out: Outbound = {
        ...createOutbound(place, ""),
        parts: [caption, file],
        blob: async (hash) => (hash === blob ? bytes : undefined),
      };
      const sent = await platform.send(out, createPlatformSignal());
      if (sent.state === "refused") skipRule(`the platform carries no files: ${sent.reason}`);
      requireMessageId(sent);
      const shown = requireValue((await there.listSent(place)).at(-1));
      const files = requirePart(shown.files, "the other side does not show the bytes of files");
      assert.deepEqual(files, [Buffer.from(bytes).toString("base64")]);
    });

    troubled("refuse", "says that they do not want it", async (there, platform) => {
      const [place] = pickTwoChats(there);
      const sent = await platform.send(createOutbound(place, "spam"), createPlatformSignal());
      assertState(sent, ["refused"], there);
      assert.deepEqual(await there.listSent(place), []);
    });

    troubled("wait", "says that it has to wait, and for how long", async (there, platform) => {
      const [place] = pickTwoChats(there);
      const sent = await platform.send(createOutbound(place, "again"), createPlatformSignal());
      assertState(sent, ["not_sent"], there);
      assert.ok(sent.state === "not_sent" && (sent.retryAfterMs ?? 0) >= 7000, JSON.stringify(sent));
      assert.ok(!("cause" in sent), JSON.stringify(sent));
      assert.deepEqual(await there.listSent(place), []);
      requireMessageId(await platform.send(createOutbound(place, "again"), createPlatformSignal()));
    });

    troubled("fail", "says that it has not arrived, or that nobody knows", async (there, platform) => {
      const [place] = pickTwoChats(there);
      const sent = await platform.send(createOutbound(place, "hello?"), createPlatformSignal());
      assertState(sent, ["not_sent", "unknown"], there);
    });

    troubled("error", "says that the error was about this message", async (there, platform) => {
      const [place] = pickTwoChats(there);
      const sent = await platform.send(createOutbound(place, "hello?"), createPlatformSignal());
      assertState(sent, ["not_sent"], there);
      assert.equal("cause" in sent && sent.cause, "message");
      assert.deepEqual(await there.listSent(place), []);
    });

    sending(
      "says that it has not arrived when nobody could be asked, and does not blame the message",
      async (there) => {
        const [place] = pickTwoChats(there);
        const sent = await there
          .unreachablePlatform()
          .send(createOutbound(place, "hello?"), createPlatformSignal());
        assertState(sent, ["not_sent"], there);
        assert.ok(!("cause" in sent), JSON.stringify(sent));
      },
    );

    sending("says that it was not sent when it was called off before", async (there, platform) => {
      const [place] = pickTwoChats(there);
      const sent = await platform.send(createOutbound(place, "no"), AbortSignal.abort());
      assertState(sent, ["not_sent"], there);
      assert.deepEqual(await there.listSent(place), []);
    });

    troubled(
      "cut",
      "does not know after a broken connection, and repeats only what its traits allow",
      async (there, platform) => {
        const [place] = pickTwoChats(there);
        const out = createOutbound(place, "did you get it?");
        const cut = await platform.send(out, createPlatformSignal());
        assertState(cut, ["unknown"], there);
        const [shown, ...more] = await there.listSent(place);
        assert.deepEqual([shown?.text, more], ["did you get it?", []], "it tried again by itself");

        if (platform.traits.outbound === "idempotent") {
          const again = await platform.send(out, createPlatformSignal());
          assert.deepEqual(again, { state: "sent", messageId: requireValue(shown).messageId });
          assert.equal((await there.listSent(place)).length, 1);
        }
      },
    );

    troubled(
      "cut",
      "finds by its nonce what an attempt has left, where it can be looked up",
      async (there, platform) => {
        if (platform.traits.outbound !== "can_be_looked_up")
          skipRule("the platform cannot look up what it has sent");
        const lookUp = requireValue(platform.lookUp?.bind(platform));
        const [place] = pickTwoChats(there);
        const out = createOutbound(place, "did you get it?");
        assert.equal(await lookUp(out, createPlatformSignal()), undefined);
        await platform.send(out, createPlatformSignal());
        assert.equal(
          await lookUp(out, createPlatformSignal()),
          requireValue((await there.listSent(place))[0]).messageId,
        );
        const other = createOutbound(place, out.parts[0]?.type === "text" ? out.parts[0].text : "");
        assert.equal(
          await lookUp(other, createPlatformSignal()),
          undefined,
          "the same words are not the same message",
        );
      },
    );

    troubled("silence", "does not know when it is called off in the middle", async (there, platform) => {
      const [place] = pickTwoChats(there);
      const leaving = new AbortController();
      const sending = platform.send(createOutbound(place, "hello?"), leaving.signal);
      while ((await there.listSent(place)).length === 0) await new Promise(setImmediate);
      leaving.abort();
      assertState(await sending, ["unknown"], there);
    });
  });

  describe("editing", () => {
    const editing = (
      promise: string,
      proof: (
        there: PlatformServer,
        edit: NonNullable<Platform["edit"]>,
        platform: Platform,
      ) => Promise<void>,
    ): void =>
      sending(promise, async (there, platform) => {
        const edit = requirePart(platform.edit?.bind(platform), "the platform cannot edit what it has sent");
        await proof(there, edit, platform);
      });

    editing("replaces what stands there, however often it is repeated", async (there, edit, platform) => {
      const [place] = pickTwoChats(there);
      const draft = createOutbound(place, "thinking");
      const messageId = requireMessageId(await platform.send(draft, createPlatformSignal()));
      const whole = { ...draft, parts: [{ type: "text" as const, text: "the answer & more" }] };
      for (let time = 0; time < 3; time += 1) {
        assert.deepEqual(await edit(whole, messageId, createPlatformSignal()), { state: "sent", messageId });
        assert.deepEqual(await listSentTexts(there, place), [[messageId, "the answer & more"]]);
      }
    });

    editing("says that there is nothing to replace", async (there, edit) => {
      const [place] = pickTwoChats(there);
      const gone = await edit(createOutbound(place, "hello"), "987654321", createPlatformSignal());
      assert.deepEqual(gone, { state: "gone" });
      assert.deepEqual(await there.listSent(place), []);
    });

    editing("says when it has to wait", async (there, edit, platform) => {
      if (!there.supportedFaults.includes("wait")) skipRule('the other side has no trouble "wait"');
      const [place] = pickTwoChats(there);
      const out = createOutbound(place, "hello");
      const messageId = requireMessageId(await platform.send(out, createPlatformSignal()));
      await there.injectFault({ kind: "wait", ms: 7000 });
      const waited = await edit(out, messageId, createPlatformSignal());
      assert.ok(waited.state === "not_sent" && (waited.retryAfterMs ?? 0) >= 7000, JSON.stringify(waited));
    });

    editing("says when nobody could be asked", async (there, _, platform) => {
      const [place] = pickTwoChats(there);
      const out = createOutbound(place, "hello");
      const messageId = requireMessageId(await platform.send(out, createPlatformSignal()));
      const failed = requireValue(
        await there.unreachablePlatform().edit?.(out, messageId, createPlatformSignal()),
      );
      assert.ok(failed.state !== "gone");
      assertState(failed, ["not_sent"], there);
    });
  });

  describe("showing that an answer comes", () => {
    sending("is possible, and its failure nobody's concern", async (there, platform) => {
      if (platform.sendTyping === undefined && platform.setMenu === undefined)
        skipRule("the platform shows neither typing nor a menu");
      const [place] = pickTwoChats(there);
      await platform.sendTyping?.(place, createPlatformSignal());
      await platform.setMenu?.([{ name: "new", summary: "Start afresh" }], createPlatformSignal());
      await there.unreachablePlatform().sendTyping?.(place, createPlatformSignal());
      assert.deepEqual(await there.listSent(place), []);
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
  there: PlatformServer,
  place: Parameters<PlatformServer["listSent"]>[0],
): Promise<[string, string][]> {
  return (await there.listSent(place)).map(({ messageId, text }: SentMessage) => [messageId, text]);
}
