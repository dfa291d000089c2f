import { describe, expect, it } from "vitest";
import { canSee, getChatAudience, OWNER } from "./owner.ts";

const group = { platform: "telegram", chatType: "group", chatId: "-100" };
const chat = "chat:telegram:-100";
const elsewhere = "chat:telegram:-200";

describe("a chat with several people", () => {
  it("has a name, and a direct chat has none", () => {
    expect(getChatAudience(group)).toBe(chat);
    expect(getChatAudience({ ...group, chatType: "thread" })).toBe(chat);
    expect(getChatAudience({ ...group, chatType: "dm" })).toBeUndefined();
  });

  it("is one chat on one platform", () => {
    expect(getChatAudience({ ...group, platform: "discord" })).not.toBe(getChatAudience(group));
  });
});

describe("who may see a session", () => {
  const mine = { owner: "p_1" };
  const mineInChat = { owner: "p_1", audience: chat };
  const theirsInChat = { owner: "p_2", audience: chat };
  const shared = { owner: chat, audience: chat };
  const all = [mine, mineInChat, theirsInChat, shared];
  const seenBy = (asker: Parameters<typeof canSee>[0]) => all.filter((session) => canSee(asker, session));

  it("is its owner, in a chat without other readers", () => {
    expect(seenBy({ person: "p_1" })).toEqual([mine, mineInChat]);
    expect(seenBy({ person: "p_2" })).toEqual([theirsInChat]);
    expect(seenBy({ person: OWNER })).toEqual([]);
  });

  it("is its owner in a chat, if the chat has seen all of it", () => {
    expect(seenBy({ person: "p_1", chat })).toEqual([mineInChat, shared]);
    expect(seenBy({ person: "p_2", chat })).toEqual([theirsInChat, shared]);
    expect(seenBy({ person: "p_3", chat })).toEqual([shared]);
    expect(seenBy({ person: "p_1", chat: elsewhere })).toEqual([]);
  });

  it("is not a person outside of the chat that owns it", () => {
    expect(canSee({ person: "p_1" }, shared)).toBe(false);
  });

  it("is everybody with the operator's tools", () => {
    expect(seenBy({ everyone: true })).toEqual(all);
  });

  it("is nobody else if everyone is present but not true", () => {
    expect(seenBy({ everyone: false } as never)).toEqual([]);
    expect(seenBy({ everyone: undefined, person: "p_ann" } as never)).toEqual(seenBy({ person: "p_ann" }));
  });

  it("cannot be a person with the name of a chat", () => {
    expect(canSee({ person: chat, chat: elsewhere }, shared)).toBe(false);
  });
});
