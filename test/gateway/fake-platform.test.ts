import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { type AddressInfo, createServer } from "node:net";
import { beforeAll, describe, expect, it } from "vitest";
import { PostriderError } from "../../src/core/errors.ts";
import { getText } from "../../src/core/message.ts";
import { source } from "../../src/core/source.ts";
import type { Platform, Receiver } from "../../src/ports/platform.ts";
import { platformContract } from "../../src/testing/index.ts";
import { createOutbound, createPlatformSignal, startListener } from "../../src/testing/platform-scene.ts";
import { type Judge, startJudge } from "./drive.ts";
import { fakePlatform } from "./fake-platform.ts";
import { otherSide } from "./other-side.ts";
import type { ChatPlace } from "./protocol.ts";

let judge: Judge;
/** A URL without a listener. */
let nowhere: string;

beforeAll(async () => {
  judge = await startJudge();
  const gone = createServer().listen(0, "127.0.0.1");
  await once(gone, "listening");
  nowhere = `http://127.0.0.1:${(gone.address() as AddressInfo).port}`;
  gone.close();
  return () => judge.stop();
});

describe.each(["idempotent", "can_be_looked_up", "unknowable"] as const)(
  "a messenger that is %s",
  (trait) => {
    platformContract(
      { describe, it },
      { open: () => otherSide(judge, trait, nowhere), destroy: () => judge.release() },
    );
  },
);

// A suite that no platform can fail proves nothing: it must detect each of these errors.
describe("the contract of platforms", () => {
  type Mistake = (platform: Platform) => Partial<Platform>;
  const receiving =
    (change: (receiver: Receiver) => Partial<Receiver>): Mistake =>
    ({ run }) => ({
      run: (receiver, signal) => run({ ...receiver, ...change(receiver) }, signal),
    });

  it.each<[mistake: string, rule: string, Mistake]>([
    [
      "acknowledges what was not stored",
      "redelivers a message that was being stored during a crash",
      receiving((receiver) => ({
        receiveMessage: async (inbound) => void receiver.receiveMessage(inbound).catch(() => {}),
      })),
    ],
    [
      "swallows a failure to store",
      "redelivers a message that was not stored, and reports the failure",
      receiving((receiver) => ({
        receiveMessage: (inbound) => receiver.receiveMessage(inbound).catch(() => {}),
      })),
    ],
    [
      "stores the cursor of the newest message first",
      "never moves its cursor past an update that is not stored",
      receiving(({ receiveMessage }) => {
        let highest = 0;
        return {
          receiveMessage(inbound) {
            highest += 1;
            return receiveMessage({ ...inbound, cursor: { name: "fake:bot", value: String(highest + 1) } });
          },
        };
      }),
    ],
    [
      "handles one chat after another",
      "does not delay a chat while a message of another one is stored",
      receiving(({ receiveMessage }) => {
        let before: Promise<unknown> = Promise.resolve();
        return {
          receiveMessage(inbound) {
            const stored = before.then(() => receiveMessage(inbound));
            before = stored.catch(() => {});
            return stored;
          },
        };
      }),
    ],
    [
      "invents ids",
      "passes a redelivered message with the same id",
      receiving(({ receiveMessage }) => ({
        receiveMessage: (inbound) => receiveMessage({ ...inbound, messageId: randomUUID() }),
      })),
    ],
    [
      "drops the thread",
      "passes text, chat, sender and id of a message, in every kind of chat",
      receiving(({ receiveMessage }) => ({
        receiveMessage({ source: { threadId: _, ...rest }, ...inbound }) {
          return receiveMessage({ ...inbound, source: rest });
        },
      })),
    ],
    [
      "sends into the chat instead of the thread",
      "sends the message to its chat, once, and returns its id",
      ({ send }) => ({
        send({ target: { threadId: _, ...target }, ...out }, signal) {
          return send({ ...out, target }, signal);
        },
      }),
    ],
    [
      "retries by itself",
      "reports an unknown outcome after a broken connection, and is repeated only as its traits allow",
      ({ send }) => ({
        async send(out, signal) {
          const first = await send(out, signal);
          return first.state === "unknown" ? send(out, signal) : first;
        },
      }),
    ],
    [
      "reports a broken connection as not sent",
      "reports an unknown outcome after a broken connection, and is repeated only as its traits allow",
      ({ send }) => ({
        async send(out, signal) {
          const sent = await send(out, signal);
          return sent.state === "unknown" ? { ...sent, state: "not_sent" } : sent;
        },
      }),
    ],
    [
      "reports an unreachable server as unknown",
      "reports an unreachable server as not sent, without the message as the cause",
      ({ send }) => ({
        async send(out, signal) {
          const sent = await send(out, signal);
          return sent.state === "not_sent" ? { state: "unknown", reason: sent.reason } : sent;
        },
      }),
    ],
    [
      "reports every failure as a refusal",
      "reports that it must wait, and how long",
      ({ send }) => ({
        async send(out, signal) {
          const sent = await send(out, signal);
          return sent.state === "not_sent" ? { state: "refused", reason: sent.reason } : sent;
        },
      }),
    ],
    [
      "reveals the token in its errors",
      "fails with wrong credentials, without revealing them",
      ({ run }) => ({
        run: (receiver, signal) =>
          run(receiver, signal).catch((error: PostriderError) => {
            throw new PostriderError(error.code, `${error.message} (wrong-token-1234)`);
          }),
      }),
    ],
    [
      "cuts long texts",
      "sends a text of the maximum length completely",
      ({ send }) => ({
        send: (out, signal) =>
          send({ ...out, parts: [{ type: "text", text: getText(out).slice(0, 1999) }] }, signal),
      }),
    ],
    [
      "sends an edit as a new message",
      "replaces the message, and a repetition has no further effect",
      ({ send }) => ({ edit: (out, _, signal) => send(out, signal) }),
    ],
  ])("detects a platform that %s", async (_, rule, mistake) => {
    const rules = new Map<string, () => Promise<void>>();
    const api = {
      describe: (_name: string, body: () => void) => body(),
      it: (name: string, body: () => Promise<void>) => void rules.set(name, body),
    };
    const changed = (platform: Platform): Platform => ({ ...platform, ...mistake(platform) });
    platformContract(api, {
      open: () => otherSide(judge, "unknowable", nowhere, changed),
      destroy: () => judge.release(),
      timeoutMs: 700,
    });
    const proof = rules.get(rule);
    expect(proof).toBeDefined();
    await expect(proof?.()).rejects.toThrow();
  });
});

describe("the judge", () => {
  const ann: ChatPlace = { chat: "dm-ann", type: "dm" };
  const platform = (): ReturnType<typeof fakePlatform> =>
    fakePlatform({ url: judge.url, token: judge.token });

  it("shows two messages for one nonce if it ignores nonces", async () => {
    const there = await otherSide(judge, "unknowable", nowhere);
    const [place] = there.chats;
    if (place === undefined) throw new Error("no place");
    await judge.say(ann, "ann", "hello");
    const out = createOutbound(place, "twice");
    const ids = [
      await platform().send(out, createPlatformSignal()),
      await platform().send(out, createPlatformSignal()),
    ];
    expect(ids.map(({ state }) => state)).toEqual(["sent", "sent"]);
    expect((await judge.shown("dm-ann")).map(({ text }) => text)).toEqual(["twice", "twice"]);
  });

  it("refuses a text that is too long, and a message to a person who has not written first", async () => {
    await judge.reset({});
    const place = source({ platform: "fake", chatType: "dm", chatId: "dm-ann", userId: "ann" });
    expect((await platform().send(createOutbound(place, "hi"), createPlatformSignal())).state).toBe(
      "refused",
    );
    await judge.say(ann, "ann", "hello");
    expect(
      (await platform().send(createOutbound(place, "x".repeat(2001)), createPlatformSignal())).state,
    ).toBe("refused");
    expect(await judge.shown()).toEqual([]);
  });

  it("reports two concurrent receivers of one bot", async () => {
    await judge.reset({});
    const first = startListener({}, platform(), new Map());
    await first.connected;
    const second = startListener({}, platform(), new Map());
    await judge.until("the conflict", (all) => all.some(({ kind }) => kind === "conflict"));
    await Promise.all([first.stop(), second.stop()]);
  });

  it("produces the same faults for the same seed", async () => {
    const faultsFor = async (seed: number): Promise<string[]> => {
      await judge.reset({ chances: { seed, send: { fail: 0.3, drop: 0.2, cut: 0.2 } } });
      await judge.say(ann, "ann", "hello");
      const place = source({ platform: "fake", chatType: "dm", chatId: "dm-ann", userId: "ann" });
      const states: string[] = [];
      for (let n = 0; n < 12; n += 1)
        states.push((await platform().send(createOutbound(place, "x"), createPlatformSignal())).state);
      return states;
    };
    const [once, again, other] = [await faultsFor(7), await faultsFor(7), await faultsFor(8)];
    expect(again).toEqual(once);
    expect(other).not.toEqual(once);
    expect(new Set(once)).toEqual(new Set(["sent", "not_sent", "unknown"]));
  });
});
