import { describe, expect, it } from "vitest";
import { gatewayRoom } from "../../test/support/gateway-room.ts";
import { heldAgent, me } from "../../test/support/talking.ts";
import { echo } from "../agents/echo.ts";
import { textOf } from "../core/message.ts";
import type { Source } from "../core/source.ts";
import { DAY } from "../sessions/test-home.ts";
import type { GatewaySettings } from "./settings.ts";

const ada: Source = { platform: "telegram", chatType: "dm", chatId: "1", userId: "1", userName: "Ada" };
const bob: Source = { platform: "telegram", chatType: "dm", chatId: "2", userId: "2", userName: "Bob" };
const topic = (threadId: string): Source => ({ ...ada, chatType: "group", chatId: "-100", threadId });

/** A chat in which an answer is being written. */
async function busy(settings: Partial<GatewaySettings> = {}) {
  const agent = heldAgent();
  const room = await gatewayRoom({ agent, settings });
  const chat = room.chat(ada);
  await chat.say("first");
  const first = await agent.asked();
  await first.say("Once ");
  return { ...room, agent, chat, first };
}

const said = ({ turn }: { readonly turn: { readonly history: readonly Parameters<typeof textOf>[0][] } }) =>
  turn.history.map(textOf);

describe("two chats at once", () => {
  it("each get their own answer, and what one says interrupts nobody else", async () => {
    const { agent, chat, first, chat: _, ...room } = await busy();
    const other = room.chat(bob);
    await other.say("hello");
    const theirs = await agent.asked();
    await chat.say("wait");
    const second = await agent.asked();
    expect([first.signal.aborted, theirs.signal.aborted]).toEqual([true, false]);
    expect([said(second).at(-1), said(theirs)]).toEqual(["wait", ["hello"]]);
    await theirs.say("for Bob");
    await second.say("for Ada");
    second.end();
    theirs.end();
    expect([await chat.texts(1), await other.texts(1)]).toEqual([["for Ada"], ["for Bob"]]);
  });
});
