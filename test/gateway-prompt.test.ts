import { beforeAll, describe, expect, it, type TestContext } from "vitest";
import { type Judge, startJudge } from "./gateway/drive.ts";
import type { ChildOptions } from "./gateway/gateway-process.ts";
import type { ChatPlace, Witnessed } from "./gateway/protocol.ts";
import { openStage, type Stage } from "./gateway/stage.ts";
import { marksIn } from "./gateway/telling-agent.ts";
import { schedule } from "./support/schedule.ts";

let judges: Judge;

beforeAll(async () => {
  judges = await startJudge();
  return () => judges.stop();
});

const dm = (person: string): ChatPlace => ({ chat: `dm-${person}`, type: "dm" });
const ann = dm("ann");

async function stageFor({ onTestFinished }: TestContext, options: Partial<ChildOptions>): Promise<Stage> {
  const stage = await openStage(judges, options);
  onTestFinished(() => stage.end());
  await stage.start();
  return stage;
}

/** A tool process that ignores SIGTERM and reports its pid to the judge. */
function buildDeafTool({ url, headers }: Judge["effects"]): readonly string[] {
  const body = '{ name: "started " + process.pid }';
  const code = `process.on("SIGTERM", () => {}); setInterval(() => {}, 1000);
    fetch(${JSON.stringify(url)}, { method: "POST", headers: ${JSON.stringify(headers)}, body: JSON.stringify(${body}) });`;
  return [process.execPath, "-e", code];
}

const listPids = (witnessed: readonly Witnessed[]): number[] =>
  witnessed.flatMap((event) =>
    event.kind === "effect" && event.name.startsWith("started ") ? [Number(event.name.slice(8))] : [],
  );

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

/** Sends a line, and returns the time between its arrival at the messenger and the arrival of the reply. */
async function measureReply({ judge, ask }: Stage, place: ChatPlace, line: string) {
  const reply = await ask(place, "ann", line);
  const seen = judge.witnessed;
  const sent = seen.find(({ seq }) => seq === reply.seq)?.at ?? Number.NaN;
  const said = seen.findLast((event) => event.kind === "said" && event.text === line)?.at ?? Number.NaN;
  return { ms: sent - said, text: reply.text, seq: reply.seq };
}

/** The minimum is the time of the gateway; the others include delays of the machine. */
function expectPrompt(what: string, times: readonly number[]): void {
  const sorted = times.toSorted((one, other) => one - other);
  console.log(`${what}: ${sorted.join(", ")} ms`);
  expect(sorted[0], what).toBeLessThan(200);
}

const TRIES = schedule(4, 6);

describe.concurrent("commands during an answer", () => {
  it("run at once while it streams", async (test) => {
    const stream = { to: "^stream", say: [{ repeat: 900, say: ["w ", { wait_ms: 20 }] }, "the end"] };
    const script = { answers: [stream, { say: "Yes." }] };
    const stage = await stageFor(test, { agent: { script }, streaming: true });
    const { judge } = stage;
    const streams = async (after: number): Promise<void> => {
      const isEdit = (event: Witnessed) => event.kind === "edited" && /w +…$/.test(event.text);
      await judge.until("more of the answer", (all) =>
        all.some((event) => event.seq > after && isEdit(event)),
      );
    };
    const times: Record<string, number[]> = { "/status": [], "/stop": [], "/new": [] };
    for (let round = 0; round < TRIES; round += 1) {
      await judge.say(ann, "ann", "stream");
      await streams(judge.witnessed.length);
      const status = await measureReply(stage, ann, "/status");
      expect(status.text).toContain("answering");
      // It did not interrupt the answer.
      await streams(status.seq);
      const line = round % 2 === 0 ? "/stop" : "/new";
      const ended = await measureReply(stage, ann, line);
      expect(ended.text).toMatch(/[Ss]topped/);
      times["/status"]?.push(status.ms);
      times[line]?.push(ended.ms);
      expect((await stage.ask(ann, "ann", "are you there?")).text).toBe("Yes.");
    }
    for (const [line, all] of Object.entries(times)) expectPrompt(`${line} while an answer streams`, all);
    expect((await judge.shown()).filter(({ text }) => text.includes("the end"))).toEqual([]);
    expect(stage.complaints()).toEqual([]);
  });

  it("run at once while a tool's process ignores SIGTERM, and the process is killed", async (test) => {
    const stage = await openStage(judges);
    test.onTestFinished(() => stage.end());
    const { judge } = stage;
    const dig = { tool: "dig", run: buildDeafTool(judge.effects), timeout_ms: 60_000 };
    const script = { answers: [{ to: "^dig", say: [dig, "the end"] }, { say: "Yes." }] };
    await stage.start({ agent: { script } });
    const times: Record<string, number[]> = { "/status": [], "/stop": [], "/new": [] };
    for (let round = 0; round < TRIES; round += 1) {
      await judge.say(ann, "ann", "dig");
      await judge.until("the program runs", (all) => listPids(all).length === round + 1);
      times["/status"]?.push((await measureReply(stage, ann, "/status")).ms);
      const line = round % 2 === 0 ? "/stop" : "/new";
      const ended = await measureReply(stage, ann, line);
      expect(ended.text).toMatch(/[Ss]topped/);
      times[line]?.push(ended.ms);
      expect((await stage.ask(ann, "ann", "are you there?")).text).toBe("Yes.");
    }
    for (const [line, all] of Object.entries(times)) expectPrompt(`${line} while a deaf program runs`, all);
    await test.expect.poll(() => listPids(judge.witnessed).filter(isAlive), { timeout: 10_000 }).toEqual([]);
    expect((await judge.shown()).filter(({ text }) => text.includes("the end"))).toEqual([]);
    expect(stage.complaints()).toEqual([]);
  });

  it("run at once while the agent hangs and ignores the stop", async (test) => {
    const script = { answers: [{ to: "^hang", say: ["I begin", { hang: true }] }, { say: "Yes." }] };
    const stage = await stageFor(test, { agent: { script } });
    const times: Record<string, number[]> = { "/stop": [], "/new": [] };
    for (let round = 0; round < TRIES; round += 1) {
      await stage.judge.say(ann, "ann", "hang");
      expect((await stage.ask(ann, "ann", "/status")).text).toContain("answering");
      const line = round % 2 === 0 ? "/stop" : "/new";
      const ended = await measureReply(stage, ann, line);
      expect(ended.text).toMatch(/[Ss]topped/);
      times[line]?.push(ended.ms);
      expect((await stage.ask(ann, "ann", "are you there?")).text).toBe("Yes.");
    }
    for (const [line, all] of Object.entries(times)) expectPrompt(`${line} while the agent hangs`, all);
    expect(stage.complaints()).toEqual([]);
  });
});

describe.concurrent("an agent that never finishes", () => {
  it("is stopped at its deadline with a notice, and pending messages are answered", async (test) => {
    const script = { answers: [{ to: "^hang", say: ["I begin", { hang: true }] }, { say: "Yes." }] };
    const stage = await stageFor(test, { agent: { script }, settings: { turnMinutes: 0.02 } });
    await stage.judge.say(ann, "ann", "hang");
    await stage.judge.say(ann, "ann", "are you there?");
    await stage.sees("the next answer", ({ text }) => text === "Yes.");
    expect((await stage.judge.shown()).map(({ text }) => text)).toEqual([
      expect.stringMatching(/^I begin\n\n⚠ The answer took longer than .* was stopped\.$/),
      "Yes.",
    ]);
  });
});

/** The histories that the agent got, one list for each request. */
const listAsked = (stage: Stage): readonly (readonly string[])[] =>
  stage.given().flatMap(({ history, isForTitle }) => (isForTitle ? [] : [history]));
const listAnswers = async ({ judge }: Stage, chat = ann.chat): Promise<string[]> =>
  (await judge.shown(chat)).map(({ text }) => text).filter((text) => text.startsWith("answer to"));

/** Sends the mark, and waits for its answer; earlier texts have been answered by then. */
async function waitForAnswer({ judge, sees }: Stage, mark: string): Promise<void> {
  await judge.say(ann, "ann", mark);
  await sees(
    `the answer to ${mark}`,
    ({ text }) => /, of course$/.test(text) && marksIn(text).includes(mark),
  );
}

/** A chat with an answer that runs until it is stopped. */
async function openBusyStage(test: TestContext, busy: NonNullable<ChildOptions["busy"]>): Promise<Stage> {
  const stage = await stageFor(test, { agent: "telling", streaming: true, busy });
  await stage.judge.say(ann, "ann", "zax1 pause 20000");
  await stage.sees("a draft", ({ text }) => /^answer to zax1 …/.test(text));
  return stage;
}

const photo = {
  name: "cat.png",
  mimeType: "image/png",
  base64: Buffer.from("not much of a cat").toString("base64"),
};

describe.concurrent("a message that arrives during an answer", () => {
  it("interrupts the answer, whose partial text is kept and marked, and overwrites no other message", async (test) => {
    const stage = await openBusyStage(test, "interrupt");
    await Promise.all([2, 3, 4].map((n) => stage.judge.say(ann, "ann", `zax${n}`)));
    await waitForAnswer(stage, "zax5");
    const [first, second, ...more] = listAsked(stage);
    expect(first).toEqual(["zax1 pause 20000"]);
    expect(second?.slice(0, 2)).toEqual(["zax1 pause 20000", "answer to zax1 <interrupted>"]);
    const said = [second, ...more].at(-1)?.filter((words) => /^zax\d/.test(words));
    expect(said?.toSorted()).toEqual(["zax1 pause 20000", "zax2", "zax3", "zax4", "zax5"]);
    const [stopped, ...answers] = await listAnswers(stage);
    expect(stopped).toBe("answer to zax1\n\n_(stopped)_");
    expect(answers.flatMap(marksIn).toSorted()).toEqual(["zax2", "zax3", "zax4", "zax5"]);
    expect(stage.complaints()).toEqual([]);
  });

  it("is pending in queue mode, and gets its own answer", async (test) => {
    const stage = await openBusyStage(test, "queue");
    for (const words of ["zax2", "zax3"]) await stage.judge.say(ann, "ann", words);
    const { text } = await stage.ask(ann, "ann", "/status");
    expect(text).toMatch(/answering/);
    expect(text).toMatch(/- waiting: “zax2”\n- waiting: “zax3”$/);
    expect((await stage.ask(ann, "ann", "/stop")).text).toMatch(/^Stopped\. 2 messages wait/);
    await stage.sees("the last answer", (message) => message.text.startsWith("answer to zax3, of course"));
    expect((await listAnswers(stage)).map(marksIn)).toEqual([["zax1"], ["zax2"], ["zax3"]]);
    expect(listAsked(stage)).toHaveLength(3);
  });

  it("is pending in collect mode, and shares an answer with other pending messages", async (test) => {
    const stage = await openBusyStage(test, "collect");
    for (const words of ["zax2", "zax3"]) await stage.judge.say(ann, "ann", words);
    await stage.judge.say(ann, "ann", "/stop");
    await stage.sees("the answer", (message) => message.text === "answer to zax2 zax3, of course");
    expect((await listAnswers(stage)).map(marksIn)).toEqual([["zax1"], ["zax2", "zax3"]]);
    expect(listAsked(stage).at(-1)).toEqual([
      "zax1 pause 20000",
      "answer to zax1 <interrupted>",
      "zax2",
      "zax3",
    ]);
  });

  it("does not interrupt if it is only a picture, a read-only command, or sent by /queue", async (test) => {
    const stage = await openBusyStage(test, "interrupt");
    await stage.judge.say(ann, "ann", "", [photo]);
    expect((await stage.ask(ann, "ann", "/queue zax2 later")).text).toMatch(/^Waits for its turn/);
    for (const line of ["/status", "/history", "/sessions", "/search answer", "/why"])
      expect((await stage.ask(ann, "ann", line)).text, line).not.toMatch(/stopped|\(stopped\)/i);
    expect((await stage.ask(ann, "ann", "/status")).text).toMatch(/answering/);
    expect(listAsked(stage)).toHaveLength(1);
    await stage.judge.say(ann, "ann", "zax3");
    await stage.judge.until("the next answer", () => listAsked(stage).flat().includes("zax3"));
    const said = listAsked(stage)
      .at(-1)
      ?.filter((words) => !words.startsWith("answer"));
    expect(said).toEqual(["zax1 pause 20000", "<image>", "zax2 later", "zax3"]);
  });

  it("is dropped by /stop all, which quotes it", async (test) => {
    const stage = await openBusyStage(test, "queue");
    for (const words of ["zax2", "zax3 *fat*"]) await stage.judge.say(ann, "ann", words);
    const { text } = await stage.ask(ann, "ann", "/stop all");
    expect(text).toMatch(/has been stopped.*2 messages .* will not be:\n\n> zax2\n\n> zax3 \\\*fat\\\*$/s);
    expect((await stage.ask(ann, "ann", "zax4")).text).toBe("answer to zax4, of course");
    expect(listAsked(stage)).toHaveLength(2);
    expect(
      listAsked(stage)
        .flat()
        .filter((words) => /zax[23]/.test(words)),
    ).toEqual([]);
  });

  it("is cancelled by /new, which quotes it, and the next message is in the new session", async (test) => {
    const stage = await openBusyStage(test, "queue");
    await stage.judge.say(ann, "ann", "zax2");
    const { text } = await stage.ask(ann, "ann", "/new");
    expect(text).toMatch(/^New session .*has been stopped.*1 message .* will not be:\n\n> zax2$/s);
    await stage.ask(ann, "ann", "zax3");
    expect(listAsked(stage).at(-1)).toEqual(["zax3"]);
    const [first, last] = stage.given();
    expect(last?.session).not.toBe(first?.session);
  });

  it("does not interrupt an answer in another topic", async (test) => {
    const stage = await stageFor(test, { agent: "telling", streaming: true, busy: "interrupt" });
    const topic = (thread: string): ChatPlace => ({ chat: "group-g", type: "group", thread });
    await stage.judge.say(topic("17"), "ann", "zax1 pause 700");
    await stage.judge.until("the agent is asked", () => listAsked(stage).length === 1);
    await stage.judge.say(topic("18"), "ann", "zax2");
    await stage.sees("the answer in the other topic", ({ text }) => text === "answer to zax2, of course");
    const { thread } = await stage.sees(
      "the whole answer",
      ({ text }) => text === "answer to zax1, of course",
    );
    expect(thread).toBe("17");
  });

  it("starts one answer at a time, even with many concurrent messages", async (test) => {
    const stage = await stageFor(test, { agent: "telling", busy: "queue" });
    const marks = Array.from({ length: 20 }, (_, n) => `zax${n + 1}`);
    await Promise.all(marks.map((mark) => stage.judge.say(ann, "ann", `${mark} pause 5`)));
    await waitForAnswer(stage, "zax99");
    const answers = await listAnswers(stage);
    expect(answers.flatMap(marksIn).slice(0, -1).toSorted()).toEqual(marks.toSorted());
    // Each history contains all earlier answers completely.
    for (const [n, history] of listAsked(stage).entries()) {
      expect(history).toHaveLength(2 * n + 1);
      expect(history.filter((words) => words.includes("<interrupted>"))).toEqual([]);
    }
  });
});

describe("a thousand messages at once", () => {
  it("are limited, and other people are answered meanwhile", async (test) => {
    const stage = await stageFor(test, { agent: "telling", busy: "queue", settings: { maxPending: 20 } });
    const { judge } = stage;
    await judge.say(ann, "ann", "zax1 pause 20000");
    await judge.until("the agent is asked", () => listAsked(stage).length === 1);
    const flood = Promise.all(Array.from({ length: 1000 }, (_, n) => judge.say(ann, "ann", `zax${n + 2}`)));
    await judge.until("the flood", (all) => all.length > 200);
    const before = Date.now();
    const { text } = await stage.ask(dm("bob"), "bob", "zbobx1");
    console.log(`somebody else was answered after ${Date.now() - before} ms`);
    expect(text).toBe("answer to zbobx1, of course");
    await flood;
    expect((await stage.ask(ann, "ann", "/status")).text.match(/- waiting: /g)).toHaveLength(20);
    const told = async () =>
      (await judge.shown(ann.chat)).filter((message) => /are already pending here/.test(message.text));
    expect(await told()).toHaveLength(1);
    // Accepted messages are answered once each, and then there is space again.
    await judge.say(ann, "ann", "/stop");
    await stage.sees(
      "the last of what was taken",
      ({ text: words }) => words === "answer to zax21, of course",
    );
    await waitForAnswer(stage, "zax5000");
    const answers = (await listAnswers(stage)).flatMap(marksIn);
    expect(answers).toHaveLength(21);
    expect(new Set(answers).size).toBe(21);
    expect(await told()).toHaveLength(1);
    expect(stage.complaints()).toEqual([]);
  });
});
