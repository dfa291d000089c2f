import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import type { Outbound, Platform, Sent } from "../ports/platform.ts";
import { twoChats } from "./contract-receiving.ts";
import {
  always,
  assertSecretFree,
  listen,
  type OtherSide,
  outbound,
  type PlatformRule,
  type Shown,
  type Trouble,
} from "./platform-scene.ts";
import { present, type TestApi } from "./scene.ts";
import { required, skipRule } from "./skip-rule.ts";

/** What is sent arrives once, and what became of it is told as it is. */
export function sendingRules({ describe }: TestApi, rule: PlatformRule): void {
  /** With every place opened: nobody is written to who has not spoken. */
  const sending = (promise: string, proof: (there: OtherSide, platform: Platform) => Promise<void>): void =>
    rule(promise, async (there) => {
      const platform = there.platform();
      const listening = listen(there, platform, new Map());
      for (const [at, place] of there.places.entries()) {
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
    kind: Trouble["kind"],
    promise: string,
    proof: (there: OtherSide, platform: Platform) => Promise<void>,
  ): void =>
    sending(promise, async (there, platform) => {
      if (!there.troubles.includes(kind)) skipRule(`the other side has no trouble "${kind}"`);
      await there.trouble(kind === "wait" ? { kind, ms: 7000 } : { kind });
      await proof(there, platform);
    });

  describe("sending", () => {
    sending(
      "puts the message where it belongs, once, under the id that it tells",
      async (there, platform) => {
        for (const place of there.places) {
          const words = `for ${place.chatType} ${place.threadId ?? ""}`.trim();
          const sent = await platform.send(outbound(place, words), always());
          assert.deepEqual(await shownTexts(there, place), [[idOf(sent), words]]);
        }
      },
    );

    sending("keeps the order of what is sent one after the other", async (there, platform) => {
      const [place] = twoChats(there);
      const words = ["one", "two", "three", "four"];
      for (const word of words) assert.ok(idOf(await platform.send(outbound(place, word), always())));
      assert.deepEqual(
        (await there.shown(place)).map(({ text }) => text),
        words,
      );
    });

    sending("carries a text of the greatest length whole", async (there, platform) => {
      const { messageLimit } = platform.traits;
      if (messageLimit === Number.MAX_SAFE_INTEGER) skipRule("the platform has no limit of length");
      const [place] = twoChats(there);
      for (const words of ["x".repeat(messageLimit), "🐎".repeat(Math.floor(messageLimit / 2))]) {
        idOf(await platform.send(outbound(place, words), always()));
        assert.equal((await there.shown(place)).at(-1)?.text, words);
      }
    });

    sending("keeps emoji, line breaks and signs that mean something elsewhere", async (there, platform) => {
      const [place] = twoChats(there);
      const words = 'Zoë & Bob: 1 < 2 > 0 "so" 👩🏽‍🚀 نعم\n\nend. (really!) #1 a=b {c} + d - e | f ~ g';
      idOf(await platform.send(outbound(place, words), always()));
      assert.equal((await there.shown(place)).at(-1)?.text, words);
    });

    sending("says which message it answers", async (there, platform) => {
      const [place] = twoChats(there);
      const replyTo = await there.say(place, "which one?");
      idOf(await platform.send(outbound(place, "this one", { replyTo }), always()));
      const shown = present((await there.shown(place)).at(-1));
      if (!("replyTo" in shown)) skipRule("the other side does not show what a message answers");
      assert.equal(shown.replyTo, replyTo);
    });

    sending("still arrives when what it answers is gone", async (there, platform) => {
      const remove = required(there.remove ?? there.takeBack, "the other side cannot remove a message");
      const [place] = twoChats(there);
      const replyTo = await there.say(place, "never mind");
      await remove(place, replyTo);
      idOf(await platform.send(outbound(place, "too late", { replyTo }), always()));
      assert.equal((await there.shown(place)).at(-1)?.text, "too late");
    });

    sending("brings files with their bytes", async (there, platform) => {
      const [place] = twoChats(there);
      const bytes = new TextEncoder().encode("a small file\0");
      const blob = createHash("sha256").update(bytes).digest("hex");
      const file = { type: "file" as const, blob, mimeType: "text/plain", size: bytes.length, name: "a.txt" };
      const caption = { type: "text" as const, text: "here it is" };
      const out: Outbound = {
        ...outbound(place, ""),
        parts: [caption, file],
        blob: async (hash) => (hash === blob ? bytes : undefined),
      };
      const sent = await platform.send(out, always());
      if (sent.state === "refused") skipRule(`the platform carries no files: ${sent.reason}`);
      idOf(sent);
      const shown = present((await there.shown(place)).at(-1));
      const files = required(shown.files, "the other side does not show the bytes of files");
      assert.deepEqual(files, [Buffer.from(bytes).toString("base64")]);
    });

    troubled("refuse", "says that they do not want it", async (there, platform) => {
      const [place] = twoChats(there);
      const sent = await platform.send(outbound(place, "spam"), always());
      assertState(sent, ["refused"], there);
      assert.deepEqual(await there.shown(place), []);
    });

    troubled("wait", "says that it has to wait, and for how long", async (there, platform) => {
      const [place] = twoChats(there);
      const sent = await platform.send(outbound(place, "again"), always());
      assertState(sent, ["not_sent"], there);
      assert.ok(sent.state === "not_sent" && (sent.retryAfterMs ?? 0) >= 7000, JSON.stringify(sent));
      assert.ok(!("cause" in sent), JSON.stringify(sent));
      assert.deepEqual(await there.shown(place), []);
      idOf(await platform.send(outbound(place, "again"), always()));
    });

    troubled("fail", "says that it has not arrived, or that nobody knows", async (there, platform) => {
      const [place] = twoChats(there);
      const sent = await platform.send(outbound(place, "hello?"), always());
      assertState(sent, ["not_sent", "unknown"], there);
    });

    troubled("error", "says that the error was about this message", async (there, platform) => {
      const [place] = twoChats(there);
      const sent = await platform.send(outbound(place, "hello?"), always());
      assertState(sent, ["not_sent"], there);
      assert.equal("cause" in sent && sent.cause, "message");
      assert.deepEqual(await there.shown(place), []);
    });

    sending(
      "says that it has not arrived when nobody could be asked, and does not blame the message",
      async (there) => {
        const [place] = twoChats(there);
        const sent = await there.unreachable().send(outbound(place, "hello?"), always());
        assertState(sent, ["not_sent"], there);
        assert.ok(!("cause" in sent), JSON.stringify(sent));
      },
    );

    sending("says that it was not sent when it was called off before", async (there, platform) => {
      const [place] = twoChats(there);
      const sent = await platform.send(outbound(place, "no"), AbortSignal.abort());
      assertState(sent, ["not_sent"], there);
      assert.deepEqual(await there.shown(place), []);
    });

    troubled(
      "cut",
      "does not know after a broken connection, and repeats only what its traits allow",
      async (there, platform) => {
        const [place] = twoChats(there);
        const out = outbound(place, "did you get it?");
        const cut = await platform.send(out, always());
        assertState(cut, ["unknown"], there);
        const [shown, ...more] = await there.shown(place);
        assert.deepEqual([shown?.text, more], ["did you get it?", []], "it tried again by itself");

        if (platform.traits.outbound === "idempotent") {
          const again = await platform.send(out, always());
          assert.deepEqual(again, { state: "sent", messageId: present(shown).messageId });
          assert.equal((await there.shown(place)).length, 1);
        }
      },
    );

    troubled(
      "cut",
      "finds by its nonce what an attempt has left, where it can be looked up",
      async (there, platform) => {
        if (platform.traits.outbound !== "can_be_looked_up")
          skipRule("the platform cannot look up what it has sent");
        const lookUp = present(platform.lookUp?.bind(platform));
        const [place] = twoChats(there);
        const out = outbound(place, "did you get it?");
        assert.equal(await lookUp(out, always()), undefined);
        await platform.send(out, always());
        assert.equal(await lookUp(out, always()), present((await there.shown(place))[0]).messageId);
        const other = outbound(place, out.parts[0]?.type === "text" ? out.parts[0].text : "");
        assert.equal(await lookUp(other, always()), undefined, "the same words are not the same message");
      },
    );

    troubled("silence", "does not know when it is called off in the middle", async (there, platform) => {
      const [place] = twoChats(there);
      const leaving = new AbortController();
      const sending = platform.send(outbound(place, "hello?"), leaving.signal);
      while ((await there.shown(place)).length === 0) await new Promise(setImmediate);
      leaving.abort();
      assertState(await sending, ["unknown"], there);
    });
  });

  describe("editing", () => {
    const editing = (
      promise: string,
      proof: (there: OtherSide, edit: NonNullable<Platform["edit"]>, platform: Platform) => Promise<void>,
    ): void =>
      sending(promise, async (there, platform) => {
        const edit = required(platform.edit?.bind(platform), "the platform cannot edit what it has sent");
        await proof(there, edit, platform);
      });

    editing("replaces what stands there, however often it is repeated", async (there, edit, platform) => {
      const [place] = twoChats(there);
      const draft = outbound(place, "thinking");
      const messageId = idOf(await platform.send(draft, always()));
      const whole = { ...draft, parts: [{ type: "text" as const, text: "the answer & more" }] };
      for (let time = 0; time < 3; time += 1) {
        assert.deepEqual(await edit(whole, messageId, always()), { state: "sent", messageId });
        assert.deepEqual(await shownTexts(there, place), [[messageId, "the answer & more"]]);
      }
    });

    editing("says that there is nothing to replace", async (there, edit) => {
      const [place] = twoChats(there);
      const gone = await edit(outbound(place, "hello"), "987654321", always());
      assert.deepEqual(gone, { state: "gone" });
      assert.deepEqual(await there.shown(place), []);
    });

    editing("says when it has to wait", async (there, edit, platform) => {
      if (!there.troubles.includes("wait")) skipRule('the other side has no trouble "wait"');
      const [place] = twoChats(there);
      const out = outbound(place, "hello");
      const messageId = idOf(await platform.send(out, always()));
      await there.trouble({ kind: "wait", ms: 7000 });
      const waited = await edit(out, messageId, always());
      assert.ok(waited.state === "not_sent" && (waited.retryAfterMs ?? 0) >= 7000, JSON.stringify(waited));
    });

    editing("says when nobody could be asked", async (there, _, platform) => {
      const [place] = twoChats(there);
      const out = outbound(place, "hello");
      const messageId = idOf(await platform.send(out, always()));
      const failed = present(await there.unreachable().edit?.(out, messageId, always()));
      assert.ok(failed.state !== "gone");
      assertState(failed, ["not_sent"], there);
    });
  });

  describe("showing that an answer comes", () => {
    sending("is possible, and its failure nobody's concern", async (there, platform) => {
      if (platform.typing === undefined && platform.menu === undefined)
        skipRule("the platform shows neither typing nor a menu");
      const [place] = twoChats(there);
      await platform.typing?.(place, always());
      await platform.menu?.([{ name: "new", summary: "Start afresh" }], always());
      await there.unreachable().typing?.(place, always());
      assert.deepEqual(await there.shown(place), []);
    });
  });
}

function idOf(sent: Sent): string {
  assert.ok(sent.state === "sent", `it was not sent: ${JSON.stringify(sent)}`);
  assert.match(sent.messageId, /\S/);
  return sent.messageId;
}

function assertState(sent: Sent, states: readonly Sent["state"][], { secrets }: OtherSide): void {
  assert.ok(states.includes(sent.state), `expected ${states.join(" or ")}, got ${JSON.stringify(sent)}`);
  assert.ok("reason" in sent && /\w/.test(sent.reason), "the reason is missing");
  assertSecretFree(sent, secrets);
}

async function shownTexts(
  there: OtherSide,
  place: Parameters<OtherSide["shown"]>[0],
): Promise<[string, string][]> {
  return (await there.shown(place)).map(({ messageId, text }: Shown) => [messageId, text]);
}
