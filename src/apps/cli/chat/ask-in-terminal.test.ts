import { describe, expect, it } from "vitest";
import { begunTurn } from "../../../../test/support/begun-turn.ts";
import { type Home, MINUTE, openHome } from "../../../../test/support/test-home.ts";
import type { ApprovalAnswer } from "../../../core/approval.ts";
import { OWNER } from "../../../core/owner.ts";
import { askInTerminal, type TerminalApprovalContext } from "./ask-in-terminal.ts";

const request = { title: "Run a command that deletes x", detail: "rm -rf x", pattern: "rm -rf x" };

async function asking(home: Home, kind: TerminalApprovalContext["kind"]) {
  const { store, clock } = home;
  const shown = Promise.withResolvers<string>();
  const notices: string[] = [];
  const notice = (words: string): void => {
    notices.push(words);
    shown.resolve(words);
  };
  const turn = await begunTurn(home);
  const answer = askInTerminal(
    { store, clock, kind, notify: notice },
    turn,
    request,
    new AbortController().signal,
  );
  const give = async (given: ApprovalAnswer): Promise<void> => {
    const [asked] = await store.access.listApprovals({ person: OWNER });
    await store.access.answerApproval({
      person: OWNER,
      approval: asked?.number ?? 0,
      answer: given,
      now: clock.now(),
    });
  };
  return { answer, shown: shown.promise, notices, give, turn };
}

describe("an approval request in the terminal", () => {
  it("shows the complete action, and accepts an answer from any chat", async () => {
    const home = await openHome();
    const { answer, shown, give } = await asking(home, "terminal");
    const words = await shown;
    expect(words).toContain("**May I?** Run a command that deletes x\n```\nrm -rf x\n```");
    for (const line of ["/approve", "/approve session", "/approve always", "/deny"])
      expect(words).toContain(line);
    await give("session");
    expect(await answer).toBe("session");
  });

  it("reports that it has expired", async () => {
    const home = await openHome();
    const { answer, shown, notices } = await asking(home, "terminal");
    await shown;
    home.clock.pass(5 * MINUTE);
    expect(await answer).toBe("expired");
    expect(notices.at(-1)).toBe("Not answered in time, so not done: Run a command that deletes x");
  });
});

describe.each(["pipe", "query"] as const)("an approval request without a person, from a %s", (kind) => {
  it("is denied at once with a notice, and leaves nothing pending", async () => {
    const home = await openHome();
    const { answer, notices } = await asking(home, kind);
    expect(await answer).toBe("unasked");
    expect(notices).toEqual([
      "Denied, because nobody can approve it here: Run a command that deletes x. Ask again in a terminal or a messenger, and approve it there.",
    ]);
    expect(await home.store.access.listApprovals({ person: OWNER })).toEqual([]);
  });

  it("is allowed by an earlier permanent approval", async () => {
    const home = await openHome();
    const before = await asking(home, "terminal");
    await before.shown;
    await before.give("always");
    await before.answer;
    const { number: turn, fence } = before.turn;
    await home.store.turns.finish({ turn, fence, outcome: "done", messages: [], now: home.clock.now() });
    const { answer, notices } = await asking(home, kind);
    expect([await answer, notices]).toEqual(["once", []]);
  });
});
