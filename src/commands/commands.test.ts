import { describe, expect, it } from "vitest";
import { indexed } from "../../test/support/database.ts";
import {
  heldAgent,
  me,
  rowsIn,
  type Talking,
  type TalkingOptions,
  talkIn,
} from "../../test/support/talking.ts";
import { DAY, HOUR, type Home, MINUTE, openHome } from "../../test/support/test-home.ts";
import { echo } from "../agents/echo.ts";
import { script } from "../agents/script.ts";
import { getText, textPart } from "../core/message.ts";
import { DEFAULT_RESET_POLICY, NO_RESET } from "../core/reset-policy.ts";
import type { Session } from "../core/session.ts";
import { localSource } from "../core/source.ts";
import type { Agent } from "../ports/agent.ts";
import {
  CHAT_COMMANDS,
  getChatCommand,
  listAvailableCommands,
  listCommandsFor,
  runChatCommand,
} from "./table.ts";

interface Room extends Talking {
  readonly home: Home;
  /** The current session of the conversation. */
  here(): Promise<Session>;
  /** The visible texts of the session. */
  shown(session?: string): Promise<string[]>;
  /** Creates a session with this message, then starts a new one. Returns the first. */
  leaveSession(words: string, title?: string): Promise<Session>;
  /** The text of a reply. */
  tell(line: string): Promise<string>;
}

async function openRoom(agent: Agent = echo, options: TalkingOptions = {}): Promise<Room> {
  const home = await openHome();
  const talking = await talkIn(home, agent, options);
  const { talk, command, ask } = talking;
  const here = async (): Promise<Session> => {
    const found = await talk.findCurrent();
    if (found === undefined) throw new Error("nothing is here");
    return found.session;
  };
  return {
    ...talking,
    home,
    here,
    shown: async (session) =>
      ((await home.sessions.history(me, session ?? (await here()).id)) ?? []).map(getText),
    async leaveSession(words, title) {
      await ask(words);
      if (title !== undefined) await command(`/title ${title}`);
      home.clock.pass(MINUTE);
      const session = await here();
      await command("/new");
      return session;
    },
    tell: async (line) => (await command(line)).text,
  };
}

/** A room in which an answer is in progress. */
async function openBusyRoom() {
  const agent = heldAgent();
  const at = await openRoom(agent);
  const said = await at.talk.submit("long story");
  const held = await agent.asked();
  await held.say("Once ");
  return { ...at, agent, held, said };
}

const failure = (code: string, message?: string | RegExp) =>
  expect.objectContaining({
    code,
    ...(message !== undefined && { message: expect.stringMatching(message) }),
  });

function ignoreNotAllowed(error: { readonly code?: string }): void {
  if (error.code !== "not_allowed") throw error;
}

describe("the table of commands", () => {
  it("has a name and a summary for each, and no name twice", () => {
    const names = CHAT_COMMANDS.flatMap(({ name, aliases = [] }) => [name, ...aliases]);
    expect(new Set(names).size).toBe(names.length);
    for (const { name, summary } of CHAT_COMMANDS) {
      expect(name).toMatch(/^[a-z]+$/);
      expect(summary, name).toMatch(/^[a-z].{5,70}[^.]$/);
    }
  });

  it("is shown by /help: every available command with its parameters and aliases", async () => {
    const { tell, place } = await openRoom();
    const lines = (await tell("/help")).split("\n");
    const commands = listAvailableCommands(place);
    expect(lines).toHaveLength(commands.length);
    commands.forEach(({ name, parameters, aliases = [], summary }, at) => {
      const line = lines[at] ?? "";
      expect(line.startsWith(`- \`/${[name, parameters].filter(Boolean).join(" ")}\` ${summary}`), line).toBe(
        true,
      );
      for (const alias of aliases) expect(line).toContain(`/${alias}`);
    });
    expect(await tell("/commands")).toBe(lines.join("\n"));
  });

  it.each([
    ["owner", "terminal", ["quit", "pair"], ["busy", "background", "personality", "sethome", "start"]],
    ["owner", "messenger", ["busy", "background", "sethome", "start", "pair"], ["quit"]],
    ["member", "messenger", ["busy", "background", "start", "pair"], ["quit", "sethome"]],
  ] as const)("offers the %s in the %s the commands that are allowed there", (role, kind, offered, kept) => {
    const names = listCommandsFor({ role, kind }).map(({ name }) => name);
    expect(names).toEqual(expect.arrayContaining([...offered, "new", "stop", "status", "help"]));
    for (const name of kept) expect(names).not.toContain(name);
  });

  it("denies a command that is not allowed here, by any of its names, with a reason, and does not suggest it", async () => {
    const { place } = await openRoom();
    const member = { ...place, role: "member", source: { ...place.source, platform: "telegram" } } as const;
    for (const name of ["quit", "exit", "q"])
      await expect(runChatCommand(member, name, "")).rejects.toThrow(
        failure("not_allowed", "/quit works in the terminal only."),
      );
    for (const name of ["sethome", "set-home"])
      await expect(runChatCommand(member, name, "")).rejects.toThrow(
        failure("not_allowed", "Only the owner of this home may give /sethome."),
      );
    await expect(runChatCommand(place, "bg", "x")).rejects.toThrow(
      failure("not_allowed", "/background works in messengers only."),
    );
    await expect(runChatCommand(member, "quitt", "")).rejects.toThrow(failure("not_found", /\/help lists/));
    await expect(runChatCommand(place, "quitt", "")).rejects.toThrow(failure("not_found", /\/quit\?/));
  });

  it("finds each command by each of its names", () => {
    for (const command of CHAT_COMMANDS)
      for (const name of [command.name, ...(command.aliases ?? [])])
        expect(getChatCommand(name)).toBe(command);
  });

  it("suggests a similar command for an unknown name, and explains how to send the text as a message", () => {
    expect(() => getChatCommand("resum")).toThrow(
      failure("not_found", /^There is no command \/resum\. Did you mean \/resume\? .*write \/\/resum\.$/),
    );
    expect(() => getChatCommand("exti")).toThrow(failure("not_found", /Did you mean \/exit\?/));
    expect(() => getChatCommand("banana")).toThrow(
      failure("not_found", /no command \/banana\. \/help lists them\./),
    );
    expect(() => getChatCommand("")).toThrow(failure("not_found", /\/help/));
  });

  it("has commands that report a chat without messages, and change nothing", async () => {
    const { place, home } = await openRoom();
    await indexed(home.file);
    const before = rowsIn(home.file);
    for (const name of [
      "status",
      "where",
      "why",
      "usage",
      "undo",
      "title",
      "history",
      "export",
      "sessions",
      "fork",
      "compress",
    ])
      await expect(getChatCommand(name).run(place, ""), name).rejects.toThrow(
        failure("not_found", "Nothing has been said here yet."),
      );
    expect(rowsIn(home.file)).toEqual(before);
  });
});

describe("/new", () => {
  it("starts a new session and shows how to go back", async () => {
    const { ask, command, here, home } = await openRoom();
    await ask("hello");
    const old = await here();
    const reply = await command("/new");
    const fresh = await here();
    expect(fresh.id).not.toBe(old.id);
    expect(reply).toEqual({
      text: `New session \`${fresh.handle}\`. The one before, \`${old.handle}\`, is kept with its 2 messages. To go back: \`/resume ${old.handle}\``,
      moved: true,
    });
    // This session has no messages, so there is nothing to go back to.
    expect((await command("/reset")).text).toBe(`New session \`${(await here()).handle}\`.`);
    expect((await home.sessions.get(me, old.id))?.messageCount).toBe(2);
  });

  it("accepts a title, and numbers it when another session has it", async () => {
    const { tell, here, leaveSession } = await openRoom();
    await leaveSession("hello", "plan");
    expect(await tell("/new plan")).toMatch(/^New session \*\*plan #2\*\* \(`\w+`\)\./);
    expect((await here()).title).toBe("plan #2");
    expect(await tell("/new trip #7")).toMatch(/^New session \*\*trip #7\*\*/);
    await tell("/new \u200b");
    expect((await here()).title).toBeUndefined();
  });

  it("refuses a title that is too long before it stops or changes anything", async () => {
    const { command, here, held, talk, said } = await openBusyRoom();
    const { id } = await here();
    await expect(command(`/new ${"x".repeat(101)}`)).rejects.toThrow(
      failure("invalid_input", /101 characters/),
    );
    expect((await here()).id).toBe(id);
    expect(talk.isAnswering()).toBe(true);
    held.end();
    await said.answer;
  });

  it("stops the answer in progress, cancels pending messages, and shows their texts", async () => {
    const { command, talk, said, shown, here } = await openBusyRoom();
    const waiting = [await talk.submit("second *thought*"), await talk.submit("# third\n- with a list")];
    const { text: reply } = await command("/new");
    expect(talk.isAnswering()).toBe(false);
    expect(await said.answer).toMatchObject({ parts: [textPart("Once ")], origin: { interrupted: true } });
    expect(await Promise.all(waiting.map(({ answer }) => answer))).toEqual([undefined, undefined]);
    expect(await shown(said.session.id)).toEqual(["long story", "Once "]);
    expect(reply).toMatch(
      /`\n\nThe answer that was being written has been stopped; what there was of it is kept\.\n\n2 messages had not been answered yet and will not be:\n\n> second \\\*thought\\\*\n\n> \\# third\n> \\- with a list$/,
    );
    expect(reply).toContain("is kept with its 2 messages");
    expect((await here()).messageCount).toBe(0);
  });

  it("does not stop an answer that another terminal in the same session waits for", async () => {
    const { held, said, agent, home, talk, command } = await openBusyRoom();
    const other = await talkIn(await home.again(), echo, { source: { ...localSource(), threadId: "2" } });
    const { conversation } = await other.talk.open();
    await home.sessions.switchTo(me, conversation.number, said.session.id);
    const second = await other.talk.submit("from the other");
    held.end();
    await said.answer;
    const theirs = await agent.asked();
    expect((await command("/new")).text).not.toContain("stopped");
    expect(talk.isAnswering(said.session.id)).toBe(true);
    await theirs.say("whole");
    theirs.end();
    expect(await second.answer).toMatchObject({ parts: [textPart("whole")] });
  });

  it("shows how to go back to a fork without messages of its own", async () => {
    const { ask, tell, here } = await openRoom();
    await ask("hello");
    await tell("/fork");
    const copy = await here();
    expect(await tell("/new")).toContain(`\`${copy.handle}\`, is kept with its 2 messages`);
  });
});

describe("/resume and /sessions", () => {
  it("report that there is no other session", async () => {
    const { tell, ask, place } = await openRoom();
    await ask("hello");
    for (const line of ["/resume", "/sessions"])
      expect(await tell(line)).toBe("There are no other sessions yet. /new starts one.");
    expect(await getChatCommand("resume").listChoices?.(place, "")).toEqual([]);
  });

  it("list the ten newest sessions with messages, newest first, each with the command that opens it", async () => {
    const { tell, leaveSession, ask, command, home } = await openRoom();
    const sessions = [];
    for (let n = 1; n <= 12; n += 1)
      sessions.push(await leaveSession(`message ${n}`, n === 12 ? "a_b [c]" : undefined));
    for (let empty = 0; empty < 25; empty += 1) await command("/new");
    await ask("here");
    home.clock.pass(2 * HOUR);
    const lines = (await tell("/resume")).split("\n");
    expect(lines).toHaveLength(10);
    expect(lines[0]).toBe(`- \`/resume ${sessions[11]?.handle}\` **a\\_b \\[c\\]** message 12 (2h ago)`);
    expect(lines[9]).toBe(`- \`/resume ${sessions[2]?.handle}\` message 3 (2h ago)`);
    expect(await tell("/sessions")).toBe(lines.join("\n"));
  });

  it("list a fork without messages of its own", async () => {
    const { tell, ask, here } = await openRoom();
    await ask("hello");
    await tell("/fork the copy");
    const { handle } = await here();
    await tell("/new");
    expect(await tell("/sessions")).toContain(`\`/resume ${handle}\` **the copy** hello`);
  });

  it("offer choices and completions", async () => {
    const { leaveSession, place, home } = await openRoom();
    const [plan, other] = [
      await leaveSession("to the sea", "Holiday plan"),
      await leaveSession("something else"),
    ];
    home.clock.pass(HOUR);
    const { listChoices, complete } = getChatCommand("resume");
    expect(await listChoices?.(place, "")).toEqual([
      { line: `/resume ${other.handle}`, label: "something else", about: `${other.handle} · 1h ago` },
      {
        line: `/resume ${plan.handle}`,
        label: "Holiday plan",
        about: `${plan.handle} · 1h ago · to the sea`,
      },
    ]);
    expect(await listChoices?.(place, "Holiday plan")).toEqual([]);
    const listCompletions = async (start: string) =>
      (await complete?.(place, start))?.map(({ line }) => line);
    expect(await listCompletions("HOLI")).toEqual([`/resume ${plan.handle}`]);
    expect(await listCompletions(other.handle)).toEqual([`/resume ${other.handle}`]);
    expect(await listCompletions("")).toHaveLength(2);
    expect(await listCompletions("banana")).toEqual([]);
  });

  it("open a session by its title, the newest of a title, an exact number, a handle, an id or the start of an id", async () => {
    const { leaveSession, here, command } = await openRoom();
    const [first, second] = [await leaveSession("one", "plan"), await leaveSession("two", "plan #2")];
    const third = await leaveSession("three");
    const ways: [string, Session][] = [
      ["plan", second],
      ["plan #2", second],
      ["  plan  ", second],
      [first.handle, first],
      [second.id, second],
      [third.id.slice(0, -1), third],
    ];
    for (const [name, wanted] of ways) {
      await command("/new");
      const reply = await command(`/resume ${name}`);
      expect((await here()).id, name).toBe(wanted.id);
      expect(reply.moved).toBe(true);
      expect(reply.text).toMatch(/^Back in .*, with 1 message of yours\.$/);
    }
    expect((await command("/resume plan")).text).toBe(
      `Back in **plan #2** (\`${second.handle}\`), with 1 message of yours.`,
    );
    expect(await command("/resume plan")).toEqual({
      text: `You are in **plan #2** (\`${second.handle}\`) already.`,
    });
  });

  it("list the candidates for an ambiguous start of an id", async () => {
    const { leaveSession, command, here } = await openRoom();
    const sessions = [await leaveSession("one", "a_b"), await leaveSession("two")];
    const { id } = await here();
    const error: { message: string; details: { candidates: unknown[] } } = await command(
      "/resume 2026",
    ).catch((it) => it);
    expect(error).toMatchObject({ code: "ambiguous" });
    expect(error.message).toContain(`  ${sessions[0]?.handle}  ${sessions[0]?.id}  a_b\n`);
    expect(error.details.candidates).toHaveLength(3);
    expect((await here()).id).toBe(id);
  });

  it.each(["nothing_here", "zzz", "x".repeat(200), "%", "'; drop"])(
    "report that %j is unknown, and change nothing",
    async (name) => {
      const { ask, command, home } = await openRoom();
      await ask("hello");
      await indexed(home.file);
      const before = rowsIn(home.file);
      const error: Error = await command(`/resume ${name}`).catch((it) => it);
      expect(error).toMatchObject({ code: "not_found" });
      expect(error.message).toContain(`There is no session "${name.slice(0, 59)}`);
      expect(error.message).toContain("/sessions lists them");
      expect(rowsIn(home.file)).toEqual(before);
    },
  );

  it("do not find sessions of other people", async () => {
    const { ask, command, home, tell } = await openRoom();
    await ask("hello");
    const theirs = await home.sessions.create({ person: "p_bob" }, { id: "bobs_own", title: "secret" });
    await home.sessions.append({ person: "p_bob" }, theirs.id, { role: "user", text: "mine alone" });
    for (const name of ["secret", theirs.handle, theirs.id, theirs.id.slice(0, -1), `${theirs.handle}/1`])
      await expect(command(`/resume ${name}`), name).rejects.toThrow(failure("not_found"));
    expect(await tell("/sessions")).not.toContain("secret");
    expect(await tell("/search alone")).toContain("Nothing was found");
  });

  it("open a message and show the messages around it", async () => {
    const { leaveSession, command, here } = await openRoom();
    const old = await leaveSession("one", "plan");
    expect(await command(`/resume ${old.handle}/2`)).toEqual({
      text: `Back in **plan** (\`${old.handle}\`), with 1 message of yours.`,
      moved: true,
      around: { session: old.id, seq: 2 },
    });
    expect((await here()).id).toBe(old.id);
    expect(await command(`/resume ${old.handle}/1`)).toEqual({
      text: `In **plan** (\`${old.handle}\`):`,
      around: { session: old.id, seq: 1 },
    });
    await expect(command("/resume zzz/1")).rejects.toThrow(failure("not_found", /"zzz\/1"/));
    await command("/new");
    const { id } = await here();
    for (const seq of ["0", "3", "99999999"])
      await expect(command(`/resume ${old.handle}/${seq}`)).rejects.toThrow(
        failure("not_found", `That session has no message ${seq}.`),
      );
    expect((await here()).id).toBe(id);
  });

  it("find a title that looks like the address of a message", async () => {
    const { leaveSession, command, here } = await openRoom();
    const old = await leaveSession("one", "trek/12");
    expect(await command("/resume trek/12")).not.toHaveProperty("around");
    expect((await here()).id).toBe(old.id);
  });

  it("stop the answer in progress, and cancel pending messages", async () => {
    const { home, command, talk, said, held: _ } = await openBusyRoom();
    const other = await home.sessions.create(me, { title: "other" });
    await talk.submit("meanwhile");
    const { text: reply } = await command("/resume other");
    expect(reply).toContain("has been stopped");
    expect(reply).toContain("1 message had not been answered yet and will not be:\n\n> meanwhile");
    expect((await talk.findCurrent())?.session.id).toBe(other.id);
    expect((await said.answer)?.origin?.interrupted).toBe(true);
  });

  it("stay in a session that the reset policy would have ended", async () => {
    const { ask, command, here, home } = await openRoom();
    await ask("hello");
    const { id, handle } = await here();
    home.clock.pass(3 * DAY);
    await command(`/resume ${handle}`);
    expect(await ask("still there?")).toBe("You said: still there? (before that: hello)");
    expect((await here()).id).toBe(id);
  });
});

describe("/title", () => {
  it("shows and sets the title", async () => {
    const { tell, ask, here } = await openRoom();
    await ask("hello");
    const { handle } = await here();
    expect(await tell("/title")).toBe(
      `This session (\`${handle}\`) has no title. \`/title SOME WORDS\` sets it.`,
    );
    expect(await tell("/title a  *bold*\nplan ☕️")).toBe(
      "This session is called **a \\*bold\\* plan ☕️** now.",
    );
    expect((await here()).title).toBe("a *bold* plan ☕️");
    expect(await tell("/title")).toContain("is called **a \\*bold\\* plan ☕️**.");
    expect(await tell("/rename a *bold* plan ☕️")).toContain("now.");
  });

  it("removes control characters, and the title if nothing else remains", async () => {
    const { tell, ask, here } = await openRoom();
    await ask("hello");
    await tell("/title \u0007pl\u200ban\u202e");
    expect((await here()).title).toBe("plan");
    expect(await tell("/title \u200b\u0007")).toBe(
      "Nothing readable is left of that, so the session has no title now.",
    );
    expect((await here()).title).toBeUndefined();
  });

  it("refuses a title that is taken or too long, and keeps the old one", async () => {
    const { tell, command, leaveSession, ask, here } = await openRoom();
    await leaveSession("one", "plan");
    await ask("two");
    await tell("/title mine");
    await expect(command("/title plan")).rejects.toThrow(failure("title_taken"));
    await expect(command(`/title ${"x".repeat(150)}`)).rejects.toThrow(
      failure("invalid_input", /150 characters; the limit is 100/),
    );
    expect(await tell(`/title ${"☕".repeat(100)}`)).toContain("now.");
    await tell("/title mine");
    expect((await here()).title).toBe("mine");
  });
});

describe("/undo, /redo and /retry", () => {
  it("remove the last message with its answer, and restore it", async () => {
    const { ask, command, shown } = await openRoom();
    await ask("one");
    await ask(`two ${"words ".repeat(20)}`);
    expect(await command("/undo")).toEqual({
      text: "Took back 2 messages: “two words words words words words words…”. /redo puts them back.",
      moved: true,
    });
    expect(await shown()).toHaveLength(2);
    expect((await command("/rewind")).text).toBe("Took back 2 messages: “one”. /redo puts them back.");
    expect(await shown()).toEqual([]);
    expect(await command("/redo")).toEqual({ text: "Put back 2 messages.", moved: true });
    expect(await command("/redo")).toEqual({ text: "Put back 2 messages.", moved: true });
    expect(await shown()).toHaveLength(4);
    await expect(command("/redo")).rejects.toThrow(failure("nothing_to_redo"));
  });

  it("report when there is nothing to undo or redo, also after a new message", async () => {
    const { ask, command } = await openRoom();
    for (const [line, code] of [
      ["/undo", "nothing_to_undo"],
      ["/redo", "nothing_to_redo"],
      ["/retry", "nothing_to_undo"],
    ])
      await expect(command(line ?? "")).rejects.toThrow(failure(code ?? ""));
    await expect(command("/retry")).rejects.toThrow("There is no message to ask again.");
    await ask("one");
    await command("/undo");
    await ask("another course");
    await expect(command("/redo")).rejects.toThrow(failure("nothing_to_redo"));
  });

  it("are refused during an answer, and do not interrupt it", async () => {
    const { command, held, said } = await openBusyRoom();
    for (const line of ["/undo", "/redo", "/retry", "/fork"])
      await expect(command(line), line).rejects.toThrow(
        failure("session_busy", /An answer is being written/),
      );
    await held.say("upon a time");
    held.end();
    expect(await said.answer).toMatchObject({ parts: [textPart("Once upon a time")] });
  });

  it("send the last message again unchanged, without its first answer", async () => {
    const { ask, command, shown } = await openRoom();
    await ask("one");
    await ask(" /undo *this*\nplease");
    const reply = await command("/retry");
    expect(reply).toEqual({
      text: "Again: “/undo \\*this\\* please”",
      moved: true,
      say: " /undo *this*\nplease",
    });
    expect(await shown()).toEqual(["one", "You said: one"]);
    await ask(reply.say ?? "");
    expect(await shown()).toHaveLength(4);
  });

  it("do not retry a message without text, and keep it", async () => {
    const { ask, command, here, home, shown } = await openRoom();
    await ask("one");
    const { id } = await here();
    const data = new Uint8Array([1, 2, 3]);
    await home.sessions.append(me, id, {
      role: "user",
      parts: [{ type: "image", mimeType: "image/png", data }],
    });
    await expect(command("/retry")).rejects.toThrow(failure("invalid_input", /no words/));
    expect(await shown()).toHaveLength(3);
  });
});

describe("/fork", () => {
  it("continues in a copy, and does not change the original", async () => {
    const { ask, command, here, shown } = await openRoom();
    await ask("one");
    const original = await here();
    const reply = await command("/fork other way");
    const copy = await here();
    expect(reply).toEqual({
      text: `You are in the copy **other way** (\`${copy.handle}\`) now. To go back to the original: \`/resume ${original.handle}\``,
      moved: true,
    });
    await ask("two");
    expect(await shown()).toEqual(["one", "You said: one", "two", "You said: two (before that: one)"]);
    expect(await shown(original.id)).toEqual(["one", "You said: one"]);
  });

  it("gives the copy of a session without a title no title", async () => {
    const { ask, command, here } = await openRoom();
    await ask("one");
    const original = await here();
    const reply = await command("/branch");
    const copy = await here();
    expect(copy).toMatchObject({ parent: original.id });
    expect(copy.title).toBeUndefined();
    expect(reply.text).toContain(`the copy \`${copy.handle}\` now`);
  });

  it("refuses an empty session, but copies a copy at once", async () => {
    const { ask, command, here, shown } = await openRoom();
    await expect(command("/fork")).rejects.toThrow(failure("invalid_input", "There is nothing to fork yet."));
    await ask("one");
    await command("/title plan");
    await command("/fork");
    expect((await here()).title).toBe("plan #2");
    await command("/fork");
    expect((await here()).title).toBe("plan #3");
    expect(await shown()).toEqual(["one", "You said: one"]);
  });

  it("refuses a title that is too long, and stays in the session", async () => {
    const { ask, command, here } = await openRoom();
    await ask("one");
    const { id } = await here();
    await expect(command(`/fork ${"x".repeat(101)}`)).rejects.toThrow(failure("invalid_input"));
    expect((await here()).id).toBe(id);
  });
});

describe("/history", () => {
  it("shows the last ten messages, or the requested number, and counts the earlier ones", async () => {
    const { ask, tell } = await openRoom();
    expect(await tell("/history")).toBe("Nothing has been said here yet.");
    for (let n = 1; n <= 6; n += 1) await ask(`message ${n}`);
    const ten = (await tell("/history")).split("\n\n");
    expect(ten[0]).toBe("… 2 messages before");
    expect(ten[1]).toBe("`3` **you** 2026-03-15 10:00: message 2");
    expect(ten).toHaveLength(11);
    expect((await tell("/history 1")).split("\n\n")).toEqual([
      "… 11 messages before",
      "`12` **agent** 2026-03-15 10:00: You said: message 6 (before that: message 5)",
    ]);
    expect((await tell("/history 99999")).split("\n\n")).toHaveLength(12);
  });

  it("shortens long texts, and marks stopped answers, attachments and tool calls", async () => {
    const { tell, home, here, command } = await openRoom();
    await command("/title x");
    const { id } = await here();
    const data = new Uint8Array([1]);
    await home.sessions.append(me, id, [
      {
        role: "user",
        parts: [textPart(`*a*\n${"b".repeat(400)}`), { type: "image", mimeType: "image/png", data }],
      },
      { role: "assistant", parts: [], toolCalls: [{ id: "1", name: "read", arguments: {} }] },
      { role: "tool", text: "done", toolCallId: "1" },
      { role: "assistant", text: "half", origin: { interrupted: true } },
      { role: "note", text: "noted" },
    ]);
    const lines = (await tell("/history")).split("\n\n");
    expect(lines[0]).toBe(`\`1\` **you** 2026-03-15 10:00: \\*a\\* ${"b".repeat(295)}… \\[image\\]`);
    expect(lines.slice(1)).toEqual([
      "`2` **agent** 2026-03-15 10:00: \\[read\\]",
      "`3` **tool** 2026-03-15 10:00: done",
      "`4` **agent** 2026-03-15 10:00 (stopped): half",
      "`5` **note** 2026-03-15 10:00: noted",
    ]);
  });

  it("shows the messages around a message of another session of the person, without opening it", async () => {
    const { leaveSession, command, here } = await openRoom();
    const old = await leaveSession("one", "trip plan");
    const { id } = await here();
    for (const name of [old.handle, old.id])
      expect(await command(`/history ${name}/2`)).toEqual({ text: "", around: { session: old.id, seq: 2 } });
    expect((await here()).id).toBe(id);
    await expect(command("/history zzz/2")).rejects.toThrow(failure("not_found", /"zzz"/));
    await expect(command(`/history ${old.handle}/3`)).rejects.toThrow(failure("not_found", /no message 3/));
  });

  it.each(["0", "-1", "1.5", "many", "100000", "k7f/", "/12"])("refuses %j as a count", async (count) => {
    const { command } = await openRoom();
    await expect(command(`/history ${count}`)).rejects.toThrow(
      failure("invalid_input", "Write how many messages to show, such as /history 20."),
    );
  });
});

describe("/search", () => {
  it("finds words in all sessions of the person, with the matches in bold and the command that opens them", async () => {
    const { leaveSession, tell, ask, home } = await openRoom();
    const old = await leaveSession("the *holiday* in Lübeck", "trip_1");
    await ask("hello");
    home.clock.pass(DAY);
    const [first, second] = (await tell("/search lubeck")).split("\n");
    expect(second).toBe(
      `- \`/resume ${old.handle}/1\` **trip\\_1** the \\*holiday\\* in **Lübeck** (1d ago)`,
    );
    expect(first).toContain(
      `\`/resume ${old.handle}/2\` **trip\\_1** You said: the \\*holiday\\* in **Lübeck**`,
    );
    expect(await tell("/find lubeck")).toContain(`\`/resume ${old.handle}/1\``);
  });

  it("shows marks in messages as text", async () => {
    const { tell, leaveSession, place } = await openRoom(script({ answers: [{ say: "ok" }] }));
    await leaveSession("python >>> print(holiday) <<< end");
    expect(await tell("/search holiday")).toContain("python \\>\\>\\> print(**holiday**) \\<\\<\\< end");
    const [choice] = (await getChatCommand("search").listChoices?.(place, "holiday")) ?? [];
    expect(choice?.label).toBe("python >>> print(holiday) <<< end");
  });

  it("reports when it finds nothing, for any text", async () => {
    const { ask, tell } = await openRoom();
    await ask("hello");
    expect(await tell("/search ba*na_na")).toBe("Nothing was found for “ba\\*na\\_na”.");
    for (const words of ['"', "***", "(", "OR", "a AND", "-hello", "{test}"])
      expect(await tell(`/search ${words}`), words).toMatch(/^Nothing was found for “/);
    expect(await tell('/search "hello')).toContain("**hello**");
  });

  it("needs a text", async () => {
    const { command, place } = await openRoom();
    const wanted = failure("invalid_input", "Write what to look for, such as /search holiday.");
    await expect(command("/search")).rejects.toThrow(wanted);
    await expect((async () => getChatCommand("search").listChoices?.(place, ""))()).rejects.toThrow(wanted);
  });

  it("offers the matches as choices", async () => {
    const { leaveSession, place, home } = await openRoom();
    const old = await leaveSession("holiday plans", "trip");
    home.clock.pass(HOUR);
    expect((await getChatCommand("search").listChoices?.(place, "plans"))?.at(-1)).toEqual({
      line: `/resume ${old.handle}/1`,
      label: "holiday plans",
      about: "trip · 1h ago",
    });
  });
});

describe("/status, /usage and /where", () => {
  const counting = script({
    answers: [
      {
        to: "cost",
        say: "x",
        usage: {
          input_tokens: 1200,
          output_tokens: 34,
          last_prompt_tokens: 1200,
          estimated_cost_usd: 0.0123,
          cost_status: "exact",
          model: "m1",
        },
      },
      { say: "x" },
    ],
  });

  it("change no row, also when a reset is due", async () => {
    const { ask, command, home } = await openRoom(counting);
    await ask("hello");
    home.clock.pass(3 * DAY);
    await indexed(home.file);
    const before = rowsIn(home.file);
    for (const { name, isReadOnly } of CHAT_COMMANDS)
      if (isReadOnly && name !== "search") await command(`/${name}`).catch(ignoreNotAllowed);
    for (const line of [
      "/status",
      "/usage",
      "/where",
      "/history",
      "/sessions",
      "/help",
      "/title",
      "/export",
      "/search hello",
      "/model",
      "/stop",
      "/stop all",
      "/resume",
      "/insights 7 local",
    ])
      await command(line);
    expect(rowsIn(home.file)).toEqual(before);
  });

  it("show the session, its times, its counts, and whether an answer is in progress", async () => {
    const { tell, said, held, talk, home } = await openBusyRoom();
    await talk.submit("a *second* thought");
    home.clock.pass(5 * MINUTE);
    const { id, handle } = said.session;
    expect((await tell("/status")).split("\n")).toEqual([
      `- session \`${handle}\`, ${id}`,
      "- begun 2026-03-15 10:00 (5m ago), last spoken 2026-03-15 10:00 (5m ago)",
      "- 1 message, 0 tokens",
      "- agent held, answering",
      "- waiting: “a \\*second\\* thought”",
    ]);
    expect(talk.isAnswering()).toBe(true);
    await talk.cancelPending(said.conversation.number);
    held.end();
    await said.answer;
    expect(await tell("/status")).toContain("- 2 messages, 0 tokens\n- agent held, idle");
  });

  it("show the usage", async () => {
    const { ask, tell } = await openRoom(counting);
    await ask("hello");
    expect(await tell("/usage")).toBe("No tokens have been counted yet (2 messages).");
    await ask("at what cost?");
    const rows = (await tell("/cost")).split("\n");
    for (const row of [
      "| input | 1,200 |",
      "| output | 34 |",
      "| **total** | **1,234** |",
      "| last prompt | 1,200 |",
      "| cost | $0.0123 (exact) |",
      "| model | m1 |",
    ])
      expect(rows).toContain(row);
    await ask("hello");
    expect((await tell("/usage")).split("\n")).toEqual(rows);
    expect(await tell("/status")).toContain("6 messages, 1,234 tokens");
    await tell("/fork");
    expect(await tell("/status")).toContain("- 0 messages said here, 6 shown, 0 tokens");
  });

  it("show the key, the policy, the time and reason of the next reset, and the last decision", async () => {
    const { ask, tell, here, home } = await openRoom();
    await ask("hello");
    home.clock.pass(HOUR);
    const { id, handle } = await here();
    expect((await tell("/where")).split("\n")).toEqual([
      `- session \`${handle}\`, ${id}`,
      "- key `agent:main:local:dm:cli`",
      "- policy: starts afresh after 1440 minutes of silence, and daily at 04:00 (UTC)",
      "- last active 2026-03-15 10:00; if nothing more is said, a new session begins 2026-03-16 04:00 (in 17h), by the daily hour",
      "- last decision: created, 2026-03-15 10:00",
    ]);
    home.clock.pass(DAY);
    await ask("again");
    expect(await tell("/where")).toContain("- last decision: reset (idle), 2026-03-16 11:00");
  });

  it.each([
    ["idle", "after 90 minutes of silence", "2026-03-15 11:30 (in 1h), for silence"],
    ["daily", "daily at 05:00 (UTC)", "2026-03-16 05:00 (in 19h), by the daily hour"],
    [
      "both",
      "after 90 minutes of silence, and daily at 05:00 (UTC)",
      "2026-03-15 11:30 (in 1h), for silence",
    ],
  ] as const)("show the policy %s", async (mode, policy, next) => {
    const { ask, tell } = await openRoom(echo, {
      policy: { ...DEFAULT_RESET_POLICY, mode, idleMinutes: 90, atHour: 5 },
    });
    await ask("hello");
    const told = await tell("/where");
    expect(told).toContain(`- policy: starts afresh ${policy}\n`);
    expect(told).toContain(`a new session begins ${next}`);
  });

  it("report that nothing ends a session if the policy is none", async () => {
    const { ask, tell } = await openRoom(echo, { policy: NO_RESET });
    await ask("hello");
    expect(await tell("/where")).toContain(
      "- policy: never starts afresh by itself\n- last active 2026-03-15 10:00; nothing will end it",
    );
  });

  it("use the wall clock of the time zone, also in the night that skips an hour", async () => {
    const { ask, tell, home } = await openRoom(echo, { zone: "Europe/Berlin" });
    home.clock.time = Date.UTC(2026, 2, 28, 11);
    await ask("hello");
    const told = await tell("/where");
    expect(told).toContain("daily at 04:00 (Europe/Berlin)");
    // 15 hours, not 16: the clock skips from two to three.
    expect(told).toContain(
      "last active 2026-03-28 12:00; if nothing more is said, a new session begins 2026-03-29 04:00 (in 15h), by the daily hour",
    );
  });

  it("show the time at which the reset happens", async () => {
    const { ask, here, home } = await openRoom(echo, { zone: "Europe/Berlin" });
    home.clock.time = Date.UTC(2026, 2, 28, 11);
    await ask("hello");
    const { id } = await here();
    home.clock.time = Date.UTC(2026, 2, 29, 2) - 1;
    await ask("a moment before four");
    expect((await here()).id).toBe(id);
    home.clock.time = Date.UTC(2026, 2, 29, 2);
    await ask("at four");
    expect((await here()).id).not.toBe(id);
  });
});

describe("/export and /archive", () => {
  it("return the session as a Markdown document, named by its handle", async () => {
    const { ask, command, here } = await openRoom(echo, { zone: "Asia/Tokyo" });
    await ask("hello");
    await command("/title plan");
    const { handle } = await here();
    for (const line of ["/export", "/export md", "/save"]) {
      const { document, text: reply } = await command(line);
      expect(reply).toBe("");
      expect(document?.name).toBe(`${handle}.md`);
      expect(document?.text).toMatch(
        /^# plan\n[\s\S]*## You, 2026-03-15 19:00\n\nhello\n\n## Agent, [\s\S]*You said: hello\n$/,
      );
    }
  });

  it("return the session as JSON that another home can import completely", async () => {
    const { ask, command, here, home } = await openRoom();
    await ask("hello");
    await ask("undone");
    await command("/undo");
    await command("/title plan");
    const { id, handle } = await here();
    const { document } = await command("/export jsonl");
    expect(document?.name).toBe(`${handle}.jsonl`);
    expect(document?.text.trimEnd()).not.toContain("\n");
    const other = await openHome();
    await other.sessions.import(JSON.parse(document?.text ?? ""));
    expect(await other.sessions.get(me, id)).toMatchObject({ id, title: "plan", messageCount: 4 });
    const shown = (await other.sessions.history(me, id)) ?? [];
    expect(shown.map(getText)).toEqual(["hello", "You said: hello"]);
    expect(await other.sessions.messages(me, id)).toEqual(await home.sessions.messages(me, id));
  });

  it("refuse any other format", async () => {
    const { command } = await openRoom();
    for (const form of ["pdf", "md jsonl"])
      await expect(command(`/export ${form}`)).rejects.toThrow(
        failure("invalid_input", /^Write \/export md/),
      );
  });

  it("archive the session and start a new one; /search still finds it, and /resume restores it", async () => {
    const { ask, command, here, tell, home } = await openRoom();
    await ask("hello");
    await command("/title old plan");
    const old = await here();
    const reply = await command("/archive");
    const fresh = await here();
    expect(fresh.id).not.toBe(old.id);
    expect(reply).toEqual({
      text: `**old plan** (\`${old.handle}\`) is archived; this is \`${fresh.handle}\`. It is out of the lists and still found by /search. To go back: \`/resume ${old.handle}\``,
      moved: true,
    });
    expect((await home.sessions.get(me, old.id))?.archivedAt).toBeDefined();
    expect(await tell("/sessions")).toContain("no other sessions");
    expect(await tell("/search hello")).toContain(`\`/resume ${old.handle}/1\``);
    await command("/resume old plan");
    expect((await here()).id).toBe(old.id);
    expect((await here()).archivedAt).toBeUndefined();
  });

  it("stop the answer in progress", async () => {
    const { command, said, talk } = await openBusyRoom();
    await talk.submit("waits");
    const { text: reply } = await command("/archive");
    expect(reply).toContain("has been stopped");
    expect(reply).toContain("> waits");
    expect((await said.answer)?.origin?.interrupted).toBe(true);
  });
});

describe("/stop and /quit", () => {
  it("stop the answer, and report when there is none", async () => {
    const { tell, said } = await openBusyRoom();
    expect(await tell("/stop")).toBe("Stopped.");
    expect(await said.answer).toMatchObject({ parts: [textPart("Once ")], origin: { interrupted: true } });
    expect(await tell("/stop")).toBe("Nothing is being answered.");
  });

  it("keep pending messages and report them, or drop them and show their texts", async () => {
    const { tell, talk, said, agent, held: _ } = await openBusyRoom();
    const second = await talk.submit("second *thought*");
    await talk.submit("third");
    expect(await tell("/stop")).toBe("Stopped. 2 messages wait; /stop all drops them, too.");
    expect((await said.answer)?.origin?.interrupted).toBe(true);
    await (await agent.asked()).say("about the second ");
    expect(await tell("/stop all")).toBe(
      "The answer that was being written has been stopped; what there was of it is kept.\n\n1 message had not been answered yet and will not be:\n\n> third",
    );
    expect(await second.answer).toMatchObject({ parts: [textPart("about the second ")] });
    expect(talk.isAnswering()).toBe(false);
    expect(await tell("/stop all")).toBe("Nothing is being answered, and nothing waits.");
    await expect(tell("/stop everything")).rejects.toThrow(failure("invalid_input", /\/stop all/));
  });

  it("leave the chat", async () => {
    const { command } = await openRoom();
    for (const line of ["/quit", "/exit", "/q"])
      expect(await command(line)).toEqual({ text: "", leave: true });
  });
});
