import { describe, expect, it } from "vitest";
import { type GatewayRoom, gatewayRoom } from "../../test/support/gateway-room.ts";
import { MINUTE } from "../../test/support/test-home.ts";
import { callTool } from "../agents/call-tool.ts";
import type { Approval, ApprovalRequest } from "../core/approval.ts";
import { getText, textPart } from "../core/message.ts";
import type { Source } from "../core/source.ts";
import type { Agent, AgentTurn } from "../ports/agent.ts";
import type { Tool } from "../ports/tool.ts";

const ada: Source = { platform: "telegram", chatType: "dm", chatId: "1", userId: "1", userName: "Ada" };
const work: Source = { ...ada, threadId: "9" };
const group: Source = { ...ada, chatType: "group", chatId: "-100" };
const bobThere: Source = { ...group, userId: "2", userName: "Bob" };
const PATTERN = "rm -rf build";

/** An agent that removes a folder at each message, if it is allowed, and answers with the result. */
function remover(
  pattern: string | undefined = PATTERN,
  more: (said: string) => Pick<ApprovalRequest, "folder" | "onlyOnce"> = () => ({}),
): Agent & { readonly ran: string[] } {
  const ran: string[] = [];
  const tool: Tool = {
    name: "terminal",
    description: "Runs a command.",
    input: { type: "object" },
    effect: "external",
    buildApprovalRequest: (given) => ({
      title: "remove build",
      detail: PATTERN,
      ...(pattern !== undefined && { pattern }),
      ...more(String((given as { said?: string }).said)),
    }),
    async run() {
      ran.push(PATTERN);
      return { parts: [textPart(`3 files are gone (${ran.length})`)] };
    },
  };
  return {
    name: "remover",
    ran,
    async *run(turn, signal) {
      const wanted = { id: `c${turn.history.length}`, name: "terminal", arguments: { said: lastSaid(turn) } };
      const output = yield* callTool(wanted, [tool], signal);
      if (output !== undefined) yield { type: "text", text: `It says: ${getText(output)}` };
    },
  };
}

function lastSaid({ history }: AgentTurn): string {
  return getText(history.findLast(({ role }) => role === "user") ?? { parts: [] });
}

async function openRoom(agent: Agent = remover()) {
  const room = await gatewayRoom({ agent, settings: { busy: "queue" } });
  const chat = room.chat(ada);
  return { room, chat, home: room.home };
}

/** Sends a message that leads to an approval request, and waits for the request. */
async function requestApproval(room: GatewayRoom, source: Source = ada, sent = 1) {
  const chat = room.chat(source);
  await chat.say("tidy up");
  const question = (await chat.sent(sent)).at(-1);
  const line = (label: string) => question?.buttons?.flat().find((one) => one.label === label)?.line ?? "";
  return { chat, question: question === undefined ? "" : getText(question), line };
}

async function listOpen({ home }: GatewayRoom): Promise<readonly Approval[]> {
  const { person } = (await home.store.access.getAccount({ platform: "telegram", userId: "1" })) ?? {
    person: "",
  };
  return home.store.access.listApprovals({ person });
}

describe("an approval request", () => {
  it("runs the tool when the person allows it, and the agent gets the result", async () => {
    const agent = remover();
    const { room } = await openRoom(agent);
    const { chat, question, line } = await requestApproval(room);
    expect(question).toContain("**May I?** remove build");
    expect(question).toContain(PATTERN);
    expect(agent.ran).toEqual([]);
    await chat.press(line("Once"));
    expect((await chat.texts(3)).slice(1)).toEqual([
      "Allowed this once: remove build",
      "It says: 3 files are gone (1)",
    ]);
  });

  it("does not run the tool when the person denies it, and the agent gets the denial", async () => {
    const agent = remover();
    const { room } = await openRoom(agent);
    const { chat } = await requestApproval(room);
    await chat.say("/deny");
    expect((await chat.texts(3)).slice(1)).toEqual([
      "Not done: remove build",
      "It says: The person did not allow terminal.",
    ]);
    expect(agent.ran).toEqual([]);
  });

  it("does not run the tool when it expires; the chat and the agent get that reason, not a denial", async () => {
    const agent = remover();
    const { room } = await openRoom(agent);
    const { chat, line } = await requestApproval(room);
    await room.pass(5 * MINUTE + 1);
    const [, said, answer] = await chat.texts(3);
    expect(said).toBe("Not answered in time, so not done: remove build");
    expect(answer).toContain("Nobody answered in time whether terminal may do this, so it was not done.");
    await chat.press(line("Always"));
    expect((await chat.texts(4)).at(-1)).toContain("The answer comes too late");
    expect([agent.ran, await listOpen(room)]).toEqual([[], []]);
  });

  it.each(["yes", "Yes!", "ok", "approve", "y", "always", "do it"])(
    "is not answered by %j, which is an ordinary message",
    async (word) => {
      const agent = remover();
      const { room } = await openRoom(agent);
      const { chat, line } = await requestApproval(room);
      await chat.say(word);
      expect(await listOpen(room)).toHaveLength(1);
      expect(agent.ran).toEqual([]);
      await chat.press(line("No"));
      // The message has its own turn, which requests an approval again.
      expect((await chat.texts(4)).at(-1)).toContain("May I?");
      expect(agent.ran).toEqual([]);
    },
  );

  it("is answered once: a second answer at the same time gets the decision that counts", async () => {
    const agent = remover();
    const { room } = await openRoom(agent);
    const { chat, line } = await requestApproval(room);
    const other = room.chat(work);
    await Promise.all([chat.press(line("Once")), other.press(line("No"))]);
    const [here, there] = [(await chat.texts(3)).slice(1), await other.texts(1)];
    const [won, lost] =
      agent.ran.length === 1 ? [here[0], there[0]] : [there[0], here.find((one) => /already/.test(one))];
    expect(won).toMatch(/^(?:Allowed this once|Not done): remove build/);
    expect(lost).toMatch(/This was answered already: (?:once|deny)\./);
  });

  it("can be answered from another chat of the person", async () => {
    const agent = remover();
    const { room } = await openRoom(agent);
    const { chat } = await requestApproval(room);
    const other = room.chat(work);
    await other.say("/approve");
    expect(await other.texts(1)).toEqual(["Allowed this once: remove build"]);
    expect((await chat.texts(2)).at(-1)).toBe("It says: 3 files are gone (1)");
  });

  it("cannot be answered by another person, neither by a command nor by its button", async () => {
    const agent = remover();
    const { room } = await openRoom(agent);
    const { chat, line } = await requestApproval(room, group);
    const bob = room.chat(bobThere);
    for (const label of ["Once", "Always", "No"]) await bob.press(line(label));
    await bob.say("/approve");
    await bob.say(line("Once"));
    const replies = (await chat.texts(6)).slice(1);
    expect(
      replies.filter((reply) => reply.includes("Only the person who was asked may answer this.")),
    ).toHaveLength(4);
    expect(replies.filter((reply) => reply.includes("Nothing waits for approval."))).toHaveLength(1);
    expect([agent.ran.length, (await listOpen(room)).length]).toEqual([0, 1]);
    await chat.press(line("Once"));
    expect((await chat.texts(8)).at(-1)).toBe("It says: 3 files are gone (1)");
  });

  it("that does not exist cannot be answered", async () => {
    const { chat } = await openRoom();
    for (const line of ["/approve", "/deny", "/approve 7"]) await chat.say(line);
    expect(await chat.texts(3)).toEqual([
      "Nothing waits for approval.",
      "Nothing waits for approval.",
      "There is no such question.",
    ]);
  });
});

describe("a rule", () => {
  it("for the session ends with the session", async () => {
    const agent = remover();
    const { room } = await openRoom(agent);
    const { chat } = await requestApproval(room);
    await chat.say("/approve session");
    await chat.texts(3);
    await chat.say("again");
    expect((await chat.texts(4)).at(-1)).toBe("It says: 3 files are gone (2)");
    await chat.say("/new");
    await chat.say("and now?");
    expect((await chat.texts(6)).at(-1)).toContain("May I?");
    expect(agent.ran).toHaveLength(2);
  });

  it("that allows always holds in every session and chat, also after a restart", async () => {
    const first = await openRoom();
    const { chat } = await requestApproval(first.room);
    await chat.say("/approve always");
    await chat.texts(3);
    await first.room.gateway.stop();
    const agent = remover();
    const room = await gatewayRoom({ agent, home: await first.home.restart() });
    // Another person is asked. Their messages also use up the ids that the first messenger has used.
    const carl = room.chat({ ...ada, chatId: "3", userId: "3" });
    for (const words of ["one", "two", "three"]) await carl.say(words);
    expect((await carl.texts(1))[0]).toContain("May I?");
    await room.chat(ada).say("once more");
    expect(await room.chat(ada).texts(1)).toEqual(["It says: 3 files are gone (1)"]);
    await room.chat(work).say("once more");
    expect(await room.chat(work).texts(1)).toEqual(["It says: 3 files are gone (2)"]);
  });

  it("that denies always gives the agent the denial without a request", async () => {
    const agent = remover();
    const { room } = await openRoom(agent);
    const { chat } = await requestApproval(room);
    await chat.say("/deny never");
    expect((await chat.texts(3))[1]).toBe("Not done, now and from now on: remove build");
    await chat.say("/new");
    await chat.say("again");
    expect((await chat.texts(5)).at(-1)).toBe("It says: The person did not allow terminal.");
    expect(agent.ran).toEqual([]);
  });
});

describe("/approvals", () => {
  it("shows and removes the rule of a folder, which holds only in that folder", async () => {
    const agent = remover(PATTERN, (said) => ({ folder: said === "elsewhere" ? "/etc" : "/home/ann/shop" }));
    const { room } = await openRoom(agent);
    const { chat } = await requestApproval(room);
    await chat.say("/approve always");
    const shop = "`rm -rf build` in `/home/ann/shop`";
    expect((await chat.texts(3))[1]).toBe(`Allowed from now on for ${shop}: remove build`);
    await chat.say("there again");
    expect((await chat.texts(4)).at(-1)).toBe("It says: 3 files are gone (2)");
    await chat.say("elsewhere");
    expect((await chat.texts(5)).at(-1)).toContain("May I?");
    await chat.say("/deny");
    await chat.texts(7);
    await chat.say("/approvals");
    expect((await chat.texts(8)).at(-1)).toContain(`1. allowed in every session: ${shop}, said now`);
    await chat.say("/approvals forget 1");
    expect((await chat.texts(9)).at(-1)).toBe(`Forgotten; the agent asks again from now on: ${shop}`);
    await chat.say("again");
    expect((await chat.texts(10)).at(-1)).toContain("May I?");
    expect(agent.ran).toHaveLength(2);
  });

  it("has no rule for a request that can only be allowed once: it offers no other button, and is repeated", async () => {
    const agent = remover(PATTERN, () => ({ onlyOnce: true }));
    const { room } = await openRoom(agent);
    const { chat, line } = await requestApproval(room);
    expect(["Once", "In this session", "Always", "No"].map((label) => line(label) !== "")).toEqual([
      true,
      false,
      false,
      true,
    ]);
    await chat.say("/approve always");
    expect((await chat.texts(3))[1]).toBe(
      "Allowed this once, as a yes to this is for one time only: remove build",
    );
    await chat.say("again");
    expect((await chat.texts(4)).at(-1)).toContain("May I?");
    await chat.say("/deny never");
    await chat.texts(6);
    await chat.say("and again");
    expect((await chat.texts(7)).at(-1)).toBe("It says: The person did not allow terminal.");
    expect(agent.ran).toHaveLength(1);
  });

  it("lists open requests and rules, and removes a rule", async () => {
    const agent = remover();
    const { room, chat } = await openRoom(agent);
    await chat.say("/approvals");
    expect(await chat.texts(1)).toEqual(["Nothing waits for your approval, and there are no rules."]);
    await requestApproval(room, ada, 2);
    await chat.say("/approvals");
    const [{ number } = { number: 0 }] = await listOpen(room);
    expect((await chat.texts(3)).at(-1)).toBe(
      `**Waiting for your approval**\n- ${number}: remove build, asked now, open for 5m more; \`/approve ${number}\` or \`/deny ${number}\``,
    );
    await chat.say("/approve always");
    await chat.texts(5);
    await room.pass(2 * MINUTE);
    await chat.say("/approvals");
    expect((await chat.texts(6)).at(-1)).toBe(
      `Nothing waits for your approval.\n\n**Rules**\n1. allowed everywhere: \`${PATTERN}\`, said 2m ago\n\n\`/approvals forget NUMBER\` takes one back.`,
    );
    for (const line of [
      "/approvals forget 2",
      "/approvals forget",
      "/approvals clear",
      "/approvals forget 1",
    ])
      await chat.say(line);
    const replies = (await chat.texts(10)).slice(6);
    expect(replies[0]).toContain("There is no number 2 in the list.");
    expect(replies[1]).toContain("/approvals forget NUMBER");
    expect(replies[2]).toContain("/approvals forget NUMBER");
    expect(replies[3]).toBe(`Forgotten; the agent asks again from now on: \`${PATTERN}\``);
    await chat.say("again");
    expect((await chat.texts(11)).at(-1)).toContain("May I?");
    expect(agent.ran).toHaveLength(1);
  });

  it("shows no requests and rules of other chats in a group", async () => {
    const { room } = await openRoom();
    const { chat } = await requestApproval(room);
    await chat.say("/approve always");
    await chat.texts(3);
    const other = await openRoom(remover("something else"));
    await requestApproval(other.room);
    const inGroup = other.room.chat(group);
    await inGroup.say("/approvals");
    const [there = ""] = await inGroup.texts(1);
    expect(there).toContain("1 question that you were asked in another chat");
    expect(there).not.toContain("remove build");
    const elsewhere = room.chat(group);
    await elsewhere.say("/approvals");
    expect((await elsewhere.texts(1))[0]).not.toContain(PATTERN);
    await elsewhere.say("/approvals forget 1");
    expect((await elsewhere.texts(2))[1]).toContain("There is no number 1 in the list.");
  });
});
