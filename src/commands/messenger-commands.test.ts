import { describe, expect, it } from "vitest";
import { indexed } from "../../test/support/database.ts";
import { messengerRoom, type RoomOptions, telegram } from "../../test/support/messenger-room.ts";
import { heldAgent, me, rowsIn } from "../../test/support/talking.ts";
import { DAY, HOUR, type Home, MINUTE, openHome } from "../../test/support/test-home.ts";
import { echo } from "../agents/echo.ts";
import { script } from "../agents/script.ts";
import type { Approval, ApprovalRequest } from "../core/approval.ts";
import { OWNER } from "../core/owner.ts";
import { throwIfRefused } from "../core/refusal.ts";
import { NO_RESET } from "../core/reset-policy.ts";
import type { Source } from "../core/source.ts";
import type { Turn } from "../core/turn.ts";
import type { Agent } from "../ports/agent.ts";
import { buildSystemPrompt } from "../turns/system-prompt.ts";
import { createLinkCode, requestPairingCode } from "./pairing.ts";
import { CHAT_COMMANDS, listCommandsFor } from "./table.ts";

async function openRoom(agent: Agent = echo, options: RoomOptions = {}) {
  const home = await openHome();
  return { home, ...(await messengerRoom(home, agent, options)) };
}

/** A chat in which an answer is in progress. */
async function openBusyRoom(options: RoomOptions = {}) {
  const agent = heldAgent();
  const at = await openRoom(agent, options);
  const said = await at.say("long story");
  const held = await agent.asked();
  await held.say("Once ");
  return { ...at, agent, held, said };
}

const bob: Source = { platform: "telegram", chatType: "dm", chatId: "7", userId: "7", userName: "Bob" };
const group: Source = { ...telegram, chatType: "group", chatId: "-100", chatName: "Band_practice" };

const failure = (code: string, message?: string | RegExp) =>
  expect.objectContaining({
    code,
    ...(message !== undefined && { message: expect.stringMatching(message) }),
  });

const readSettings = async (at: { place(): ReturnType<Awaited<ReturnType<typeof openRoom>>["place"]> }) =>
  (await (await at.place()).chat.findCurrent())?.conversation.settings;

describe("a command that only reads", () => {
  it("changes no row, also when a reset is due", async () => {
    const { ask, command, home } = await openRoom(script({ answers: [{ say: "x" }] }));
    await ask("hello");
    home.clock.pass(3 * DAY);
    await indexed(home.file);
    const before = rowsIn(home.file);
    for (const { name, isReadOnly } of CHAT_COMMANDS)
      if (isReadOnly && name !== "quit") await command(`/${name}${name === "search" ? " hello" : ""}`);
    for (const line of ["/busy", "/model", "/personality", "/pair list", "/stop", "/start"])
      await command(line);
    expect(rowsIn(home.file)).toEqual(before);
  });
});

describe("/stop", () => {
  it("stops the answer of this chat and of no other", async () => {
    const agent = heldAgent();
    const { say, tell, at } = await openRoom(agent);
    const other = await at({ ...telegram, chatId: "43" });
    await say("here");
    const mine = await agent.asked();
    await other.say("there");
    const theirs = await agent.asked();
    expect(await tell("/stop")).toBe("Stopped.");
    expect([mine.signal.aborted, theirs.signal.aborted]).toEqual([true, false]);
    expect(await tell("/stop")).toBe("Nothing is being answered.");
  });

  it("reports that there is no answer in a chat without messages", async () => {
    const { tell } = await openRoom();
    expect(await tell("/stop")).toBe("Nothing is being answered.");
    expect(await tell("/stop all")).toBe("Nothing is being answered.");
  });
});

describe("/queue", () => {
  it("sends a message after the answer, whatever the busy mode", async () => {
    const { command } = await openBusyRoom();
    expect(await command("/queue and *then* the train")).toEqual({
      text: "Waits for its turn: “and \\*then\\* the train”",
      say: "and *then* the train",
      queued: true,
    });
  });

  it("sends the message at once if no answer is in progress, also as the first message", async () => {
    const { command } = await openRoom();
    expect(await command("/queue hello")).toEqual({ text: "", say: "hello", queued: true });
  });

  it("needs a text", async () => {
    const { command } = await openRoom();
    await expect(command("/queue")).rejects.toThrow(failure("invalid_input", /^Write what to say next/));
  });
});

describe("/busy", () => {
  it("shows the mode, sets it for this chat only, and restores the configured one", async () => {
    const at = await openRoom(echo, { settings: { busy: "collect" } });
    const other = await at.at({ ...telegram, chatId: "43" });
    expect(await at.tell("/busy")).toMatch(
      /^While an answer is written: \*\*collect\*\* \(as configured\)\./,
    );
    expect(await at.tell("/busy QUEUE")).toBe(
      "From now on, in this chat: **queue**: new messages wait, and are answered one after the other.",
    );
    expect(await at.tell("/busy")).toContain("**queue** (chosen for this chat)");
    expect(await readSettings(at)).toEqual({ busy: "queue" });
    expect(await other.tell("/busy")).toContain("(as configured)");
    expect(await at.tell("/busy default")).toContain("**collect**");
    expect(await readSettings(at)).toEqual({});
  });

  it("refuses any other mode, and offers the modes as buttons", async () => {
    const { command, place } = await openRoom();
    await expect(command("/busy never")).rejects.toThrow(failure("invalid_input", /\/busy interrupt/));
    const choices = await CHAT_COMMANDS.find(({ name }) => name === "busy")?.listChoices?.(await place(), "");
    expect(choices?.map(({ line }) => line)).toEqual(["/busy interrupt", "/busy queue", "/busy collect"]);
  });
});

describe("/model and /personality", () => {
  const models: Agent = {
    ...echo,
    name: "m1",
    contextWindow: 1000,
    getContextWindow: (name) => name.length * 1000,
  };
  const personalities = { pirate: "Talk like a pirate. ".repeat(9), "Old friend": "Be warm." };

  it("set a model for this chat only, show it, and restore the configured one", async () => {
    const at = await openRoom(models);
    const other = await at.at({ ...telegram, chatId: "43" });
    expect(await at.tell("/model")).toBe("**m1** answers here, as configured.");
    expect(await at.tell("/model vendor/m-2:free")).toMatch(
      /^From the next message on, \*\*vendor\/m-2:free\*\* answers in this chat, and in this chat only\./,
    );
    expect(await at.tell("/model")).toContain("chosen instead of m1");
    expect(await readSettings(at)).toEqual({ model: "vendor/m-2:free" });
    expect(await other.tell("/model")).toBe("**m1** answers here, as configured.");
    expect(await at.tell("/model Default")).toBe("**m1** answers in this chat again.");
    expect(await readSettings(at)).toEqual({});
  });

  it("reach the agent with the next turn", async () => {
    const agent = { ...heldAgent(), getContextWindow: () => 1000 };
    const { tell, say } = await openRoom(agent);
    await tell("/model other-one");
    await say("hello");
    expect((await agent.asked()).turn.model).toBe("other-one");
  });

  it.each(["two words", "x".repeat(201), "\u001b[31m", "-x"])("refuse %j as a model", async (name) => {
    const at = await openRoom(models);
    await expect(at.command(`/model ${name}`)).rejects.toThrow(failure("invalid_input"));
    expect(await readSettings(at)).toBeUndefined();
  });

  it("report that an agent has no choice of models", async () => {
    const { command, tell } = await openRoom(echo);
    await expect(command("/model m2")).rejects.toThrow(failure("not_allowed", /^echo answers here/));
    expect(await tell("/model")).toContain("**echo** answers here");
  });

  it("list the personalities, set one for this chat only, and clear it", async () => {
    const at = await openRoom(echo, { settings: { personalities } });
    const other = await at.at({ ...telegram, chatId: "43" });
    const lines = (await at.tell("/personality")).split("\n");
    expect(lines[0]).toBe("In this chat the agent is itself.");
    expect(lines[1]).toMatch(/^- `\/personality pirate` Talk like a pirate\. .{39}…$/);
    expect(await at.tell("/personality OLD FRIEND")).toContain("the agent is **Old friend** in this chat");
    expect(await readSettings(at)).toEqual({ personality: "Old friend" });
    expect(await at.tell("/personality")).toContain("In this chat the agent is **Old friend**.");
    expect(await other.tell("/personality")).toContain("is itself");
    for (const none of ["none", "default", "Neutral"]) {
      await at.tell("/personality pirate");
      expect(await at.tell(`/personality ${none}`)).toBe("The agent is itself in this chat.");
      expect(await readSettings(at)).toEqual({});
    }
  });

  it("list the personalities when a name is unknown, also the name of an object property", async () => {
    const at = await openRoom(echo, { settings: { personalities } });
    for (const name of ["ghost", "constructor", "__proto__"])
      await expect(at.command(`/personality ${name}`)).rejects.toThrow(
        failure("not_found", /There are pirate, Old friend, and none\./),
      );
    const none = await openRoom();
    expect(await none.tell("/personality")).toBe("No personalities are configured, so the agent is itself.");
    await expect(none.command("/personality pirate")).rejects.toThrow(failure("not_found", /None are/));
  });
});

describe("/insights", () => {
  const counting = script({ answers: [{ say: "x", usage: { input_tokens: 1200, output_tokens: 34 } }] });

  async function openUsedRoom() {
    const at = await openRoom(counting, {
      settings: { reset: { default: NO_RESET, byType: {}, byPlatform: {} } },
    });
    await at.ask("hello");
    return at;
  }

  it("counts the messages of the last 30 days, or of the requested number of days", async () => {
    const at = await openUsedRoom();
    const told = await at.tell("/insights");
    expect(told).toMatch(
      /^What was said in the last 30 days:\n- 1 session, 2 messages, 1 of them by people\n/,
    );
    at.home.clock.pass(8 * DAY);
    expect(await at.tell("/insights 7")).toBe("Nothing was said in the last 7 days.");
    expect(await at.tell("/insights 9")).toContain("1 session");
  });

  it("counts the usage of that time only, by purpose and by day, with the certainty of the cost", async () => {
    const at = await openUsedRoom();
    const { sessions, clock } = at.home;
    const everyone = { everyone: true } as const;
    const { id } = (await sessions.list(everyone)).items[0] ?? { id: "" };
    clock.pass(DAY);
    const cost = { costUsd: 0.5, costStatus: "estimated" };
    await sessions.recordUsage(everyone, id, { inputTokens: 6, ...cost }, { purpose: "title" });
    const lines = (await at.tell("/insights")).split("\n");
    expect(lines.slice(3, 7)).toEqual([
      "- 1,240 tokens, at least $0.5000 (partial)",
      "- for answers 1,234 tokens; titles 6 tokens",
      "- 2026-03-15: 1,234 tokens",
      "- 2026-03-16: 6 tokens, $0.5000 (estimated)",
    ]);
    clock.pass(DAY / 2);
    const later = await at.tell("/insights 1");
    expect(later).toContain("- 6 tokens, $0.5000 (estimated)");
    expect(later).not.toContain("1,240");
  });

  it.each([
    "30 telegram",
    "telegram 30",
    "telegram",
    "--days 30 --source telegram",
    "--source=telegram",
    "—days 30",
  ])("accepts %j", async (args) => {
    const at = await openUsedRoom();
    expect(await at.tell(`/insights ${args}`)).toContain("1 session");
  });

  it("counts one platform only", async () => {
    const at = await openUsedRoom();
    expect(await at.tell("/insights signal")).toBe("Nothing was said in the last 30 days on signal.");
  });

  it.each(["0", "-3", "1.5", "99999", "3651", "--days", "--days many", "--source 7", "telegram signal"])(
    "refuses %j with an explanation",
    async (args) => {
      const { command } = await openRoom();
      await expect(command(`/insights ${args}`)).rejects.toThrow(
        failure("invalid_input", /Write it like \/insights 7/),
      );
    },
  );

  it("does not count messages of others", async () => {
    const at = await openUsedRoom();
    const other = await at.at(bob, "member");
    expect(await other.tell("/insights")).toBe("Nothing was said in the last 30 days.");
  });
});

describe("/sethome and /platforms", () => {
  it("make a chat the home channel of its platform, and show the connections", async () => {
    const at = await openRoom(echo, { source: group });
    const now = at.home.clock.now();
    expect(await at.tell("/platforms")).toMatch(/^- No messenger is set up\.\n- conversations here: start/);
    expect(await at.tell("/set-home")).toMatch(
      /^This chat, Band\\_practice \(`-100`\), is the home channel of Telegram now:/,
    );
    expect(await at.home.store.conversations.listHomeChannels()).toEqual([
      { platform: "telegram", chatId: "-100", name: "Band_practice" },
    ]);
    const { store } = at.home;
    const runner = (await store.runners.listLeases({ now })).length === 0 ? await startRunner(at.home) : "";
    await store.runners.acquireLease({
      name: "platform:telegram:9:9",
      runner,
      ttlMs: HOUR,
      about: "connected",
      now,
    });
    await store.runners.acquireLease({ name: "expiry", runner, ttlMs: HOUR, now });
    expect((await at.tell("/platforms")).split("\n")).toEqual([
      "- Telegram (`9:9`): connected",
      "- home channel of Telegram: Band\\_practice (`-100`), set with /sethome",
      "- conversations here: start afresh after 1440 minutes of silence, and daily at 04:00 (UTC)",
    ]);
  });

  it("show every configured messenger with its state, and the reason of a failure to the owner only", async () => {
    const platforms = [
      { platform: "telegram", state: "enabled" },
      { platform: "signal", state: "unsupported" },
    ] as const;
    const at = await openRoom(echo, { source: group, settings: { platforms } });
    const states = async (from: Pick<typeof at, "tell"> = at): Promise<string[]> =>
      (await from.tell("/platforms")).split("\n").slice(0, 2);
    const signal = "- Signal: in the configuration, but this version cannot connect to it";
    expect(await states()).toEqual(["- Telegram: enabled, and no gateway is connected to it", signal]);
    const { store, clock } = at.home;
    const runner = await startRunner(at.home);
    const member = await at.at(bob, "member");
    for (const [about, shown] of [
      ["connecting", "connecting"],
      ["down: no network", "down"],
      ["refused: The token is wrong.", "refused"],
    ] as const) {
      await store.runners.acquireLease({
        name: "platform:telegram:9",
        runner,
        ttlMs: HOUR,
        about,
        now: clock.now(),
      });
      expect(await states()).toEqual([`- Telegram (\`9\`): ${about}`, signal]);
      expect(await states(member)).toEqual([`- Telegram (\`9\`): ${shown}`, signal]);
    }
    const off = await openRoom(echo, {
      settings: { platforms: [{ platform: "telegram", state: "disabled" }] },
    });
    expect((await states(off))[0]).toBe("- Telegram: disabled in the configuration");
  });

  it("show the same home channel everywhere: the one of /sethome, else of the configuration", async () => {
    const homes = [{ platform: "telegram", chatId: "1", name: "Home" }];
    const at = await openRoom(echo, { source: group, settings: { homes } });
    const { store } = at.home;
    await at.ask("hello");
    const told = async (): Promise<readonly string[]> => {
      const settings = { homes, personalities: {}, privacy: {}, scope: {} };
      const prompt = await buildSystemPrompt(group, {}, { store, settings, platforms: ["telegram"] });
      const words = [await at.tell("/platforms"), await at.tell("/status"), prompt];
      return words.map((text) => /^- (?:home channel of T|t)elegram: .*$/m.exec(text)?.[0] ?? "nothing");
    };
    const configured = [
      "- home channel of Telegram: Home (`1`), from the configuration",
      "- home channel of Telegram: Home (`1`), from the configuration",
      "- telegram: Home (ID: 1)",
    ];
    expect(await told()).toEqual(configured);
    await at.tell("/sethome");
    expect(await told()).toEqual([
      "- home channel of Telegram: Band\\_practice (`-100`), set with /sethome",
      "- home channel of Telegram: this chat, set with /sethome",
      "- telegram: Band_practice (ID: -100)",
    ]);
    expect(await at.tell("/sethome clear")).toBe(
      "The home channel of Telegram is Home (`1`), from the configuration.",
    );
    expect(await told()).toEqual(configured);
    expect(await at.tell("/sethome clear")).toMatch(/^Nothing was set with \/sethome\./);
    await expect(at.command("/sethome there")).rejects.toThrow(failure("invalid_input", /\/sethome clear/));
  });

  it("are for the owner: a member cannot set or see the home channel", async () => {
    const at = await openRoom(echo, { source: group });
    await at.tell("/sethome");
    const member = await at.at(bob, "member");
    await expect(member.command("/sethome")).rejects.toThrow(failure("not_allowed", /Only the owner/));
    expect(await member.tell("/platforms")).not.toContain("Band");
  });

  async function startRunner({ store, clock }: Home): Promise<string> {
    const { localRunner } = await import("../system/local-runner.ts");
    const runner = localRunner();
    await store.runners.recordHeartbeat({ runner, now: clock.now() });
    return runner.id;
  }
});

describe("/background", () => {
  it("is answered in a separate session, while the chat stays in its session", async () => {
    const agent = heldAgent();
    const { say, tell, place } = await openRoom(agent);
    const { session } = await say("long story");
    await agent.asked();
    const long = `write *${"a".repeat(80)}*`;
    const reply = await tell(`/bg ${long}`);
    expect(reply).toMatch(/^Started in `\w+`: “write \\\*a{52}…”\. The answer comes here\.$/);
    const other = await agent.asked();
    expect(other.turn.session).not.toBe(session.id);
    expect(other.turn.history).toHaveLength(1);
    expect((await (await place()).chat.findCurrent())?.session.id).toBe(session.id);
    expect(await tell("/bg again")).not.toContain(/`(\w+)`/.exec(reply)?.[1]);
  });

  it("needs a text", async () => {
    const { command } = await openRoom();
    await expect(command("/background")).rejects.toThrow(failure("invalid_input", /^Write the task/));
  });
});

describe("/approve and /deny", () => {
  const request = { title: "run `rm -rf build`", pattern: "rm -rf *" };

  async function createApproval(
    home: Home,
    turn: Turn | undefined,
    what: ApprovalRequest = request,
  ): Promise<Approval> {
    if (turn === undefined) throw new Error("no turn has started");
    const now = home.clock.now();
    return throwIfRefused(
      await home.store.access.createApproval({
        turn: turn.number,
        fence: turn.fence,
        request: what,
        deadline: now + 5 * MINUTE,
        now,
      }),
    );
  }

  const readAnswer = async ({ store }: Home, { number }: Approval) =>
    (await store.access.getApproval({ asker: { everyone: true }, approval: number }))?.answer;

  const isAllowed = ({ store }: Home, { person, session }: Approval, pattern = "rm -rf *") =>
    store.access.checkApprovalRules({ person, session, pattern }).then((word) => word === "allowed");

  it("allow only once without an argument", async () => {
    const { tell, said, home } = await openBusyRoom();
    const asked = await createApproval(home, said.turn);
    expect(await tell("/approve")).toBe("Allowed this once: run \\`rm -rf build\\`");
    expect(await readAnswer(home, asked)).toBe("once");
    expect(await isAllowed(home, asked)).toBe(false);
    await expect(tell("/approve")).rejects.toThrow(failure("not_found", "Nothing waits for approval."));
    await expect(tell("/deny")).rejects.toThrow(failure("not_found", "Nothing waits for approval."));
  });

  it.each([
    ["session", "session", "Allowed in this session for `rm -rf *`"],
    ["SES", "session", "Allowed in this session for `rm -rf *`"],
    ["always", "always", "Allowed from now on for `rm -rf *`"],
    ["permanently", "always", "Allowed from now on for `rm -rf *`"],
    ["once", "once", "Allowed this once"],
  ])("/approve %s", async (how, answer, words) => {
    const { tell, said, home } = await openBusyRoom();
    const asked = await createApproval(home, said.turn);
    expect(await tell(`/approve ${how}`)).toBe(`${words}: run \\\`rm -rf build\\\``);
    expect(await readAnswer(home, asked)).toBe(answer);
    expect(await isAllowed(home, asked)).toBe(answer !== "once");
    expect(await isAllowed(home, { ...asked, session: "another" })).toBe(answer === "always");
    const later = await home.restart();
    expect(await isAllowed(later, asked)).toBe(answer !== "once");
  });

  it("allow only once, with the reason, if the request has no pattern", async () => {
    const { tell, said, home } = await openBusyRoom();
    await createApproval(home, said.turn, { title: "go" });
    expect(await tell("/approve always")).toBe("Allowed this once, as nothing like it can be recognised: go");
  });

  it("deny the request", async () => {
    const { tell, said, home } = await openBusyRoom();
    const asked = await createApproval(home, said.turn);
    expect(await tell("/deny")).toBe("Not done: run \\`rm -rf build\\`");
    expect(await readAnswer(home, asked)).toBe("deny");
  });

  it("answer the oldest request first, or the one with the given number", async () => {
    const { tell, said, home } = await openBusyRoom();
    const all = [];
    for (const title of ["one", "two", "three"]) all.push(await createApproval(home, said.turn, { title }));
    expect(await tell(`/approve ${all[1]?.number}`)).toBe("Allowed this once: two");
    expect(await tell("/approve")).toBe("Allowed this once: one");
    expect(await tell(`/deny #${all[2]?.number}`)).toBe("Not done: three");
    await expect(tell(`/approve ${all[2]?.number}`)).rejects.toThrow(failure("not_allowed", /already/));
    await expect(tell("/approve 99999")).rejects.toThrow(failure("not_found"));
  });

  it("answer the requests of this chat before those of other chats", async () => {
    const { home, tell, said, at } = await openBusyRoom();
    const other = await at({ ...telegram, chatId: "43" });
    await createApproval(home, said.turn, { title: "first, here" });
    const there = await other.say("there");
    await createApproval(home, there.turn, { title: "there" });
    expect(await other.tell("/approve")).toBe("Allowed this once: there");
    expect(await other.tell("/approve")).toBe("Allowed this once: first, here");
    await expect(tell("/approve")).rejects.toThrow(failure("not_found"));
  });

  it("do not show a private request in a group", async () => {
    const { home, said, at } = await openBusyRoom();
    const asked = await createApproval(home, said.turn);
    const inGroup = await at(group);
    await inGroup.say("hello all");
    expect(await inGroup.tell("/approve always")).toBe(
      "Allowed from now on: what you were asked in another chat",
    );
    expect(await readAnswer(home, asked)).toBe("always");
  });

  it("do not answer the requests of other people", async () => {
    const { home, said, at } = await openBusyRoom();
    const asked = await createApproval(home, said.turn);
    const other = await at(bob, "member");
    await other.say("hello");
    await expect(other.tell("/approve")).rejects.toThrow(failure("not_found"));
    for (const line of [`/approve ${asked.number}`, `/deny ${asked.number}`])
      await expect(other.tell(line)).rejects.toThrow(failure("not_allowed", /who was asked/));
    expect(await readAnswer(home, asked)).toBeUndefined();
  });

  it("are refused for a request that is five minutes old, and answer the next one", async () => {
    const { tell, said, home } = await openBusyRoom();
    const old = await createApproval(home, said.turn, { title: "old" });
    home.clock.pass(5 * MINUTE + 1);
    await createApproval(home, said.turn, { title: "new" });
    expect(await tell("/approve")).toBe("Allowed this once: new");
    await expect(tell("/approve")).rejects.toThrow(
      failure("expired", "That was asked 5m ago and is too old to be answered; it is not done: old"),
    );
    expect(await readAnswer(home, old)).toBe("expired");
    await expect(tell("/approve")).rejects.toThrow(failure("not_found"));
  });

  it("cannot be replaced by a message such as yes, and refuse unknown words", async () => {
    const { tell, said, home, say } = await openBusyRoom();
    const asked = await createApproval(home, said.turn);
    for (const word of ["yes", "approve", "ok"]) await say(word);
    for (const line of ["/approve yes", "/approve forever", "/deny always"])
      await expect(tell(line), line).rejects.toThrow(failure("invalid_input"));
    expect(await readAnswer(home, asked)).toBeUndefined();
  });
});

describe("/why", () => {
  it("shows the decisions that led to this session, the policy, and who can see it", async () => {
    const { ask, tell, home, command } = await openRoom();
    const { session } = await ask("hello");
    home.clock.pass(DAY + 1);
    const { session: second } = await ask("again");
    await command("/new");
    const lines = (await tell("/why")).split("\n");
    expect(lines[0]).toMatch(/^This is `\w+`\. What led here, newest first:$/);
    expect(lines[2]).toMatch(
      new RegExp(`^- 2026-03-16 10:00 a new session was asked for: from ${second.id} to \\S+$`),
    );
    expect(lines.slice(3)).toEqual([
      `- 2026-03-16 10:00 started afresh after a silence: from ${session.id} to ${second.id}`,
      `- 2026-03-15 10:00 began: to ${session.id}`,
      "",
      "And besides:",
      "",
      "- a direct chat: only you speak here",
      "- it starts afresh after 1440 minutes of silence, and daily at 04:00 (UTC)",
      "- you alone may see it, in the terminal and in direct chats",
    ]);
  });

  it.each([
    [true, "each has a conversation of their own", "the others read along here, and cannot go on in it"],
    [false, "share one conversation", "whoever speaks in this chat may see it, here and nowhere else"],
  ])("in a group, per person: %s", async (groupsPerUser, sharing, audience) => {
    const { ask, tell } = await openRoom(echo, { source: group, settings: { scope: { groupsPerUser } } });
    await ask("hello");
    const told = await tell("/why");
    expect(told).toContain(sharing);
    expect(told).toContain(audience);
  });
});

describe("/status and /usage in a messenger", () => {
  it("show the busy mode, the settings of the chat, pending messages, and undelivered messages", async () => {
    const { say, tell, home, said } = await openBusyRoom({ settings: { personalities: { pirate: "Arr." } } });
    await say("second");
    expect(await tell("/status")).toContain(
      "- while it answers: interrupt (a new message stops the answer and is answered next)\n- waiting: “second”",
    );
    await tell("/busy queue");
    await tell("/personality pirate");
    const { deliveries } = await home.store.outbox.enqueue({
      deliveries: [{ target: telegram, parts: [{ type: "text", text: "x" }] }],
      session: said.session.id,
      runner: "r",
      now: home.clock.now(),
    });
    await home.store.outbox.settle({
      delivery: deliveries[0]?.number ?? 0,
      outcome: { state: "dead", error: "Forbidden: bot was blocked" },
      now: home.clock.now(),
    });
    const told = await tell("/status");
    expect(told).toContain("- personality pirate, chosen for this chat");
    expect(told).toContain("- while it answers: queue, chosen for this chat");
    expect(told).toContain("- 1 message could not be delivered: Forbidden: bot was blocked");
  });

  it("show how much of the model's window is used", async () => {
    const counting = script({
      answers: [{ say: "x", usage: { input_tokens: 500, output_tokens: 1, last_prompt_tokens: 500 } }],
    });
    const models: Agent = { ...counting, contextWindow: 100_000, getContextWindow: () => 1000 };
    const { ask, tell } = await openRoom(models);
    await ask("hello");
    expect(await tell("/usage")).toContain("| context | 0.5% of 100,000 |");
    await tell("/model small");
    expect(await tell("/usage")).toContain("| context | 50% of 1,000 |");
  });
});

describe("/pair and /start", () => {
  it("greet, and list the commands that are allowed here", async () => {
    const { tell } = await openRoom(echo, { source: bob, role: "member" });
    const told = await tell("/start");
    expect(told).toMatch(/^Hello, Bob\. Say something, and echo answers\.\n\n- `\/new/);
    expect(told.split("\n").filter((line) => line.startsWith("- "))).toHaveLength(
      listCommandsFor({ role: "member", kind: "messenger" }).length,
    );
    expect(told).not.toContain("/sethome");
  });

  it.each(["/pair", "/start"])("%s CODE makes a member's account the owner's", async (name) => {
    const { home, tell, ask } = await openRoom(echo, { source: bob, role: "member" });
    const { session } = await ask("before");
    const { code } = await createLinkCode({ ...home, platform: "telegram", person: OWNER });
    expect(await tell(`${name} ${code}`)).toContain("This account is the owner's now");
    expect(await home.store.access.getAccount({ platform: "telegram", userId: "7" })).toMatchObject({
      role: "owner",
    });
    expect((await home.sessions.get(me, session.id))?.id).toBe(session.id);
  });

  it("report to the owner that there is nothing to link, and to a member how to link", async () => {
    const owner = await openRoom();
    expect(await owner.tell("/pair ABCD-EFGH")).toContain("You are the owner already.");
    await expect(owner.tell("/pair")).rejects.toThrow(failure("invalid_input", /\/pair approve CODE/));
    const member = await owner.at(bob, "member");
    await expect(member.tell("/pair")).rejects.toThrow(failure("invalid_input", /postrider pair link/));
    await expect(member.tell("/pair ABCD-EFGH")).rejects.toThrow(failure("not_found", /no such code/));
  });

  it("show the owner the requests for access, and approve one", async () => {
    const { home, tell } = await openRoom();
    expect(await tell("/pair list")).toBe("Nobody asks to be let in.");
    const asked = await requestPairingCode({ ...home, source: bob });
    if (asked.state !== "asked") throw new Error(asked.state);
    home.clock.pass(5 * MINUTE);
    expect(await tell("/pair list")).toContain(
      "- **Bob** (`7` on Telegram), asked 5m ago, good for 55m more",
    );
    expect(await tell("/pair list")).not.toContain(asked.code);
    expect(await tell(`/pair approve ${asked.code.toLowerCase()}`)).toBe(
      "**Bob** (`7` on Telegram) is let in, and told so.",
    );
    expect(await home.store.access.getAccount({ platform: "telegram", userId: "7" })).toMatchObject({
      role: "member",
    });
  });

  it("approve and list only for the owner, and list only in a direct chat", async () => {
    const { at } = await openRoom();
    const member = await at(bob, "member");
    for (const line of ["/pair list", "/pair approve ABCD-EFGH"])
      await expect(member.tell(line)).rejects.toThrow(failure("not_allowed", /Only the owner/));
    const inGroup = await at(group);
    await expect(inGroup.tell("/pair list")).rejects.toThrow(failure("not_allowed", /direct chat/));
  });
});
