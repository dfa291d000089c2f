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

describe("access to a session", () => {
  const mine = { owner: "p_1" };
  const mineInChat = { owner: "p_1", audience: chat };
  const theirsInChat = { owner: "p_2", audience: chat };
  const shared = { owner: chat, audience: chat };
  const all = [mine, mineInChat, theirsInChat, shared];
  const listVisible = (asker: Parameters<typeof canSee>[0]) =>
    all.filter((session) => canSee(asker, session));

  it("is granted to its owner in a chat without other readers", () => {
    expect(listVisible({ person: "p_1" })).toEqual([mine, mineInChat]);
    expect(listVisible({ person: "p_2" })).toEqual([theirsInChat]);
    expect(listVisible({ person: OWNER })).toEqual([]);
  });

  it("is granted in a shared chat if the chat has seen all of the session", () => {
    expect(listVisible({ person: "p_1", chat })).toEqual([mineInChat, shared]);
    expect(listVisible({ person: "p_2", chat })).toEqual([theirsInChat, shared]);
    expect(listVisible({ person: "p_3", chat })).toEqual([shared]);
    expect(listVisible({ person: "p_1", chat: elsewhere })).toEqual([]);
  });

  it("is denied outside of the chat that owns the session", () => {
    expect(canSee({ person: "p_1" }, shared)).toBe(false);
  });

  it("is granted to the operator for every session", () => {
    expect(listVisible({ everyone: true })).toEqual(all);
  });

  it("is not extended if everyone is present but not true", () => {
    expect(listVisible({ everyone: false } as never)).toEqual([]);
    expect(listVisible({ everyone: undefined, person: "p_ann" } as never)).toEqual(
      listVisible({ person: "p_ann" }),
    );
  });

  it("is denied to a person with the name of a chat", () => {
    expect(canSee({ person: chat, chat: elsewhere }, shared)).toBe(false);
  });
});
