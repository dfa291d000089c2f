import { source } from "../../src/core/source.ts";
import type { Source } from "../../src/index.ts";
import type { Platform } from "../../src/ports/platform.ts";
import type { PlatformServer } from "../../src/testing/index.ts";
import type { Judge } from "./drive.ts";
import { fakePlatform } from "./fake-platform.ts";
import type { ChatPlace, Fault } from "./protocol.ts";

/** The server side of a messenger with this behaviour. */
export async function otherSide(
  judge: Judge,
  outboundTrait: "idempotent" | "can_be_looked_up" | "unknowable",
  /** A URL without a listener. */
  nowhere: string,
  /** Wraps the platform under test. */
  changed: (platform: Platform) => Platform = (platform) => platform,
): Promise<PlatformServer> {
  await judge.reset({ idempotent: outboundTrait === "idempotent", echoes: true });
  const { url, token } = judge;
  const at = (chatType: string, chatId: string, userId: string, threadId?: string): Source =>
    source({ platform: "fake", chatType, chatId, userId, userName: userId, threadId });
  const place = ({ chatId, chatType, threadId }: Source): ChatPlace => ({
    chat: chatId,
    type: chatType as ChatPlace["type"],
    ...(threadId !== undefined && { thread: threadId }),
  });
  const faults: Record<string, Fault["kind"]> = {
    refuse: "refuse",
    wait: "wait",
    fail: "fail",
    error: "error",
    cut: "cut",
    silence: "hold",
  };
  return {
    platform: () => changed(fakePlatform({ url, token, outbound: outboundTrait, draftEveryMs: 50 })),
    unauthorizedPlatform: () => changed(fakePlatform({ url, token: "wrong-token-1234" })),
    unreachablePlatform: () => changed(fakePlatform({ url: nowhere, token })),
    secrets: [token, "wrong-token-1234"],
    chats: [
      at("dm", "dm-ann", "ann"),
      at("dm", "dm-bob", "bob"),
      at("group", "group-1", "ann"),
      at("group", "group-1", "bob", "17"),
    ],
    say: async (where, words) => (await judge.say(place(where), where.userId ?? "", words)).messageId,
    editMessage: (where, messageId, words) => judge.change(where.chatId, messageId, words),
    deleteMessage: (where, messageId) => judge.change(where.chatId, messageId),
    press: (where, messageId, line) => judge.press(where.chatId, messageId, where.userId ?? "", line),
    redeliver: (where) => judge.bringAgain(where.chatId),
    async listSent(where) {
      const all = await judge.shown(where.chatId);
      return all
        .filter(({ thread }) => thread === where.threadId)
        .map(({ files, ...rest }) => ({
          ...rest,
          ...(files !== undefined && { files: files.map(({ base64 }) => base64) }),
        }));
    },
    async injectFault(trouble) {
      const kind = faults[trouble.kind];
      const fault = { kind, ...("ms" in trouble && { ms: trouble.ms }) } as Fault;
      for (const on of ["send", "edit"] as const) await judge.plan({ on, fault });
    },
    supportedFaults: ["refuse", "wait", "fail", "error", "cut", "silence"],
  };
}
