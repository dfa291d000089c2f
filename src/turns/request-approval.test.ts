import { describe, expect, it, vi } from "vitest";
import { begunTurn } from "../../test/support/begun-turn.ts";
import { type Home, MINUTE, openHome } from "../../test/support/test-home.ts";
import type { Approval } from "../core/approval.ts";
import { OWNER } from "../core/owner.ts";
import { throwIfRefused } from "../core/refusal.ts";
import { type ApprovalOptions, requestApproval } from "./request-approval.ts";

const request = { title: "remove build", pattern: "rm -rf build" };

/** An open approval request, with its answer and its row. */
async function startRequest(home: Home, more: Partial<ApprovalOptions> = {}) {
  const { store, clock } = home;
  const turn = await begunTurn(home);
  const stop = new AbortController();
  const put = Promise.withResolvers<Approval>();
  const asks = { store, clock, sendQuestion: async (one: Approval) => put.resolve(one), ...more };
  const answer = requestApproval(asks, turn, request, stop.signal);
  const { number } = await put.promise;
  const row = () => store.access.getApproval({ asker: { everyone: true }, approval: number });
  return { turn, stop, answer, number, row };
}

describe("an approval request whose process shuts down", () => {
  it.each([
    ["stays open if another runner continues the turn", true, undefined],
    ["expires if no runner does", false, "expired"],
  ] as const)("%s", async (_, isLeft, left) => {
    const { stop, answer, row } = await startRequest(await openHome(), { isHandedOver: () => isLeft });
    stop.abort();
    expect(await answer).toBe("deny");
    expect((await row())?.answer).toBe(left);
  });

  it("keeps an answer from before the shutdown", async () => {
    const home = await openHome();
    const { stop, answer, number } = await startRequest(home);
    const now = home.clock.now();
    await home.store.access.answerApproval({ person: OWNER, approval: number, answer: "session", now });
    stop.abort();
    expect(await answer).toBe("session");
  });
});

describe("an approval request without an answer", () => {
  it("is reported as expired once", async () => {
    const home = await openHome();
    const said: string[] = [];
    const expired = async (asked: Approval) => void said.push(asked.request.title);
    const { answer } = await startRequest(home, { onExpired: expired });
    home.clock.pass(5 * MINUTE);
    expect(await answer).toBe("expired");
    expect(said).toEqual(["remove build"]);
  });

  it("expires in time, however the system clock is changed meanwhile", async () => {
    const home = await openHome();
    const { answer, row } = await startRequest(home);
    home.clock.time -= 60 * MINUTE;
    home.clock.pass(5 * MINUTE);
    expect(await answer).toBe("expired");
    expect((await row())?.answer).toBe("expired");
  });

  it("can still be answered after the system clock was set an hour ahead", async () => {
    const home = await openHome();
    const { answer, number, row } = await startRequest(home);
    home.clock.time += 60 * MINUTE;
    await vi.waitUntil(async () => ((await row())?.deadline ?? 0) > home.clock.now(), 5000);
    home.clock.pass(MINUTE);
    const now = home.clock.now();
    throwIfRefused(
      await home.store.access.answerApproval({ person: OWNER, approval: number, answer: "once", now }),
    );
    expect(await answer).toBe("once");
  });

  it("is not reported as expired when its turn is stopped", async () => {
    const said: string[] = [];
    const expired = async () => void said.push("expired");
    const { answer, stop } = await startRequest(await openHome(), { onExpired: expired });
    stop.abort();
    expect([await answer, said]).toEqual(["deny", []]);
  });
});
