import { beforeEach, describe, expect, it, vi } from "vitest";
import { gatewayRoom } from "../../test/support/gateway-room.ts";
import { script } from "../agents/script.ts";
import type { Source } from "../core/source.ts";

const ada: Source = { platform: "telegram", chatType: "dm", chatId: "1", userId: "1", userName: "Ada" };
const asking = script({ answers: [{ say: [{ approve: { title: "remove the file" } }, "Removed."] }] });

beforeEach(() => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"], shouldAdvanceTime: true });
  return () => vi.useRealTimers();
});

describe("an approval request", () => {
  it("stays open when the gateway shuts down, so that the next gateway continues it", async () => {
    const { home, gateway, chat } = await gatewayRoom({ agent: asking });
    await chat(ada).say("clean up");
    await chat(ada).sent(1);
    let isStopped = false;
    const stopping = gateway.stop().then(() => {
      isStopped = true;
    });
    while (!isStopped) await vi.advanceTimersByTimeAsync(1000);
    await stopping;
    const { person = "" } = (await home.store.access.getAccount({ platform: "telegram", userId: "1" })) ?? {};
    const open = await home.store.access.listApprovals({ person });
    expect(open.map(({ request }) => request.title)).toEqual(["remove the file"]);
  });
});
