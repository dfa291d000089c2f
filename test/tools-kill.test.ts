import { beforeAll, describe, expect, it } from "vitest";
import { model } from "../src/agents/model/model.ts";
import type { Message } from "../src/core/message.ts";
import type { Process } from "../src/core/process.ts";
import { providerHistory } from "../src/core/projection.ts";
import type { AgentEvent } from "../src/ports/agent.ts";
import type { Tool } from "../src/ports/tool.ts";
import type { Witnessed } from "./gateway/protocol.ts";
import { temporaryFolder } from "./support/folder.ts";
import { modelServer } from "./support/model-server.ts";
import { isProof, schedule } from "./support/schedule.ts";
import { driveToolKills, type ToolKillReport } from "./tools-kill/drive.ts";
import { type CommandStep, DONE } from "./tools-kill/errands.ts";
import type { Belongings, Evidence } from "./tools-kill/evidence.ts";
import type { Findings } from "./tools-kill/findings.ts";
import { judge } from "./tools-kill/judge.ts";
import { providerComplaints, type Shape } from "./tools-kill/provider-rules.ts";

const SEED = 20_261_201;
const [KILLS, KEEPER_KILLS, TURNS] = schedule([8, 1, 8], [30, 4, 30]);

/** Offered, so that earlier calls of it are sent to the model in their own format. */
const unusedTool = (name: string): Tool => ({
  name,
  description: "Does nothing.",
  input: { type: "object" },
  effect: "none",
  run: () => Promise.reject(new Error("nobody calls it")),
});

// Leftover processes are found in /proc.
describe.skipIf(process.platform !== "linux")(
  `a gateway whose agent uses tools, killed ${KILLS} times in at least ${TURNS} turns (seed ${SEED})`,
  () => {
    let report: ToolKillReport;

    beforeAll(async () => {
      const folder = temporaryFolder();
      const plan = { seed: SEED, kills: KILLS, keeperKills: KEEPER_KILLS, turns: TURNS };
      try {
        report = await driveToolKills({ folder: folder.path, ...plan });
      } finally {
        folder.remove();
      }
      const { kills, inFlight, keeperKills, asked, answered, told, aims, evidence } = report;
      console.log(
        `seed ${SEED}: kills ${kills}, in flight ${inFlight}, of the keeper ${keeperKills}, asked ${asked}, answered ${answered}, told ${told}, traces ${evidence.effects.length}`,
        aims,
      );
    }, 300_000);

    it("is mostly killed during a turn, continues after each kill, and leaves no process running", () => {
      expect(report.errors).toEqual([]);
      expect(report.kills).toBe(KILLS);
      expect(report.inFlight).toBeGreaterThanOrEqual(schedule(4, 24));
      expect(report.keeperKills).toBeGreaterThan(0);
      const asked = new Set(
        report.evidence.witnessed.flatMap((event) => (saidBy(event, "ann") ? [event.text] : [])),
      );
      expect(asked.size).toBeGreaterThanOrEqual(TURNS);
      expect(report.evidence.left).toEqual([]);
    });

    it("answers every request or reports what may have happened, and claims nothing that was not done", () => {
      expect(report.lost).toEqual([]);
      expect(report.answered).toBeGreaterThan(0);
      expect(report.told).toBeGreaterThan(0);
    });

    it("repeats no action and no notice", () => {
      expect(report.doubled).toEqual([]);
      expect(report.evidence.effects.length).toBeGreaterThan(TURNS);
    });

    it("gives models histories that providers accept, stores real exit codes, and obeys denials", () => {
      expect(report.broken).toEqual([]);
      expect(report.evidence.given.length).toBeGreaterThan(TURNS);
    });

    it("mixes no content between chats", () => {
      expect(report.crossed).toEqual([]);
    });

    it("leaves sessions that can be sent to a real model", async () => {
      for (const { history } of Object.values(report.evidence.people)) {
        const server = await modelServer({ say: ["I see."] });
        const agent = model({ provider: "compatible", model: "tiny", baseUrl: server.url }, { retries: 0 });
        const next: Message = {
          session: history[0]?.session ?? "",
          seq: (history.at(-1)?.seq ?? 0) + 1,
          at: 1,
          role: "user",
          parts: [{ type: "text", text: "What has happened?" }],
        };
        const called = history.flatMap(({ toolCalls = [] }) => toolCalls.map(({ name }) => name));
        const turn = {
          session: next.session,
          history: providerHistory([...history, next]),
          tools: [...new Set(called)].map(unusedTool),
          blob: async () => undefined,
        };
        const events: AgentEvent[] = [];
        for await (const event of agent.run(turn, new AbortController().signal)) events.push(event);
        expect(events).toContainEqual({ type: "text", text: "I see." });
        expect(events.map(({ type }) => type)).not.toContain("failed");
        const messages = server.requests[0]?.body.messages ?? [];
        const results = (all: readonly { readonly role: string }[]) =>
          all.filter(({ role }) => role === "tool").length;
        expect(called.length).toBeGreaterThan(0);
        expect(results(messages)).toBe(results(turn.history));
        expect(messages.at(-1)).toMatchObject({ role: "user", content: "What has happened?" });
        for (const { role, content } of messages) expect([role, content]).not.toEqual([role, ""]);
      }
    });

    // A check that cannot fail proves nothing: it must detect each of these errors. Only a long run has the data for all.
    it.runIf(isProof).each<[keyof Findings, string, (good: Evidence) => Evidence]>([
      [
        "doubled",
        "a command that ran twice",
        (good) => ({ ...good, effects: [...good.effects, once(good)] }),
      ],
      [
        "lost",
        "a command that left no trace",
        (good) => ({ ...good, effects: without(good.effects, answered(good)) }),
      ],
      [
        "lost",
        "an interrupted process",
        (good) => ({ ...good, effects: without(good.effects, ended(good)) }),
      ],
      [
        "broken",
        "a trace without a command",
        (good) => ({ ...good, effects: [...good.effects, "ann-9999.1"] }),
      ],
      [
        "broken",
        "an action after a denial",
        (good) => ({ ...good, effects: [...good.effects, denied(good)] }),
      ],
      ["lost", "a missing answer", (good) => ({ ...good, witnessed: cut(good, isAnswer) })],
      ["lost", "a missing notice", (good) => ({ ...good, witnessed: cut(good, isNotice) })],
      ["lost", "a notice without the state of the command", (good) => ({ ...good, witnessed: silent(good) })],
      ["doubled", "a repeated answer", (good) => ({ ...good, witnessed: again(good, isAnswer) })],
      ["broken", "a repeated notice", (good) => ({ ...good, witnessed: again(good, isNotice) })],
      [
        "lost",
        "a missing notice of the end of a process",
        (good) => ({ ...good, witnessed: cut(good, isEnd) }),
      ],
      [
        "doubled",
        "a repeated notice of the end of a process",
        (good) => ({ ...good, witnessed: again(good, isEnd) }),
      ],
      ["crossed", "an answer in another chat", (good) => ({ ...good, witnessed: moved(good, isAnswer) })],
      [
        "crossed",
        "the end of a process in another chat",
        (good) => ({ ...good, witnessed: moved(good, isEnd) }),
      ],
      [
        "doubled",
        "a repeated line in a ledger",
        // A line may occur as often as it was requested, which is never this often.
        (good) => own(good, ({ ledger }) => ({ ledger: Array.from({ length: 20 }, () => ledger).flat() })),
      ],
      ["lost", "an empty ledger", (good) => own(good, () => ({ ledger: [] }))],
      [
        "doubled",
        "a repeated memory entry",
        (good) => own(good, ({ memory }) => ({ memory: [...memory, ...memory] })),
      ],
      ["lost", "an empty memory", (good) => own(good, () => ({ memory: [] }))],
      ["crossed", "the memory of another person", (good) => own(good, () => ({ memory: ["bob-1.1"] }))],
      ["lost", "no files", (good) => ({ ...good, files: {} })],
      [
        "broken",
        "an incomplete file",
        (good) => ({ ...good, files: mapped(good.files, (text) => text.slice(0, 3)) }),
      ],
      [
        "broken",
        "a result without a call",
        (good) => own(good, ({ history }) => ({ history: [...history, STRAY] })),
      ],
      ["broken", "a turn without results", (good) => ({ ...good, given: good.given.map(withoutResults) })],
      [
        "broken",
        "a process that is still running",
        (good) => own(good, ({ processes }) => ({ processes: running(processes) })),
      ],
      [
        "broken",
        "another exit code",
        (good) => own(good, ({ processes }) => ({ processes: failing(processes) })),
      ],
      [
        "broken",
        "an unknown exit",
        (good) => own(good, ({ processes }) => ({ processes: unknown(processes) })),
      ],
      [
        "broken",
        "a process that still runs",
        (good) => ({ ...good, left: [{ pid: 7, command: "sleep 1000" }] }),
      ],
    ])("is checked by a judge that detects: %s, %s", (kind, _, harm) => {
      expect(report[kind]).toEqual([]);
      expect(judge(harm(report.evidence))[kind]).not.toEqual([]);
    });
  },
);

describe("the check of a message history by provider rules", () => {
  const user: Shape = { role: "user" };
  const calls: Shape = { role: "assistant", calls: ["a", "b"] };
  const result = (of: string): Shape => ({ role: "tool", of });

  it("accepts a complete history", () => {
    const good = [user, calls, result("a"), result("b"), { role: "assistant" }, user];
    expect(providerComplaints(good)).toEqual([]);
  });

  it.each<[string, readonly Shape[]]>([
    ["a call without a result", [user, calls, result("a"), user]],
    ["a call without a result at the end", [user, calls, result("a")]],
    ["a duplicate result", [user, calls, result("a"), result("b"), result("b")]],
    ["results in another order", [user, calls, result("b"), result("a")]],
    ["a result before its call", [user, result("a"), calls, result("a"), result("b")]],
    ["a message between call and result", [user, calls, user, result("a"), result("b")]],
    ["a call with a repeated id", [user, calls, result("a"), result("b"), calls, result("a"), result("b")]],
    ["an assistant message at the start", [{ role: "assistant" }, user]],
    ["two assistant messages in a row", [user, { role: "assistant" }, { role: "assistant" }]],
    ["an empty assistant message", [user, { role: "assistant", isEmpty: true }]],
    ["a tool call by a person", [{ role: "user", calls: ["a"] }, result("a")]],
  ])("rejects %s", (_, messages) => {
    expect(providerComplaints(messages)).not.toEqual([]);
  });
});

type Sent = Extract<Witnessed, { kind: "sent" }>;
type Fits = (text: string) => boolean;

const isAnswer: Fits = (text) => text.includes(`${DONE}[`);
const isNotice: Fits = (text) => text.includes("may have acted already") && /` ended with code/.test(text);
const isEnd: Fits = (text) => /^`[^`]*` \(proc_\w+\) ended/.test(text);
const STRAY: Message = {
  session: "s",
  seq: 9999,
  at: 1,
  role: "tool",
  parts: [{ type: "text", text: "done" }],
  toolCallId: "nobody's",
};

function saidBy(event: Witnessed, person: string): event is Extract<Witnessed, { kind: "said" }> {
  return event.kind === "said" && event.person === person && event.text.startsWith("[");
}

function commands({ errands }: Evidence): CommandStep[] {
  return errands.flatMap(({ steps }) => steps.filter((step): step is CommandStep => step.kind === "command"));
}

function present<T>(found: T | undefined): T {
  if (found === undefined) throw new Error("there is nothing to harm");
  return found;
}

function once(good: Evidence): string {
  const twice = new Set(good.witnessed.flatMap((event) => (event.kind === "said" ? [event.text] : [])));
  const isRepeated = (line: string): boolean =>
    [...twice].some((text) => text.startsWith(`[${line.split(".")[0]}/`));
  return present(good.effects.find((line) => !isRepeated(line) && !hasRetry(good, line)));
}

function hasRetry({ witnessed }: Evidence, line: string): boolean {
  const [name = ""] = line.split(".");
  const said = witnessed.filter((event) => event.kind === "said" && event.person === name.split("-")[0]);
  return said.some((event, at) => {
    const before = said[at - 1];
    return (
      "text" in event &&
      event.text === "/retry" &&
      before?.kind === "said" &&
      before.text.startsWith(`[${name}]`)
    );
  });
}

/** The trace of a command whose answer claims that it was done. */
function answered(good: Evidence): string {
  const names = good.witnessed.flatMap((event) =>
    event.kind === "sent" && isAnswer(event.text) ? [present(/\[([a-z]+-\d+)/.exec(event.text)?.[1])] : [],
  );
  const step = commands(good).find(
    ({ trace, lines, background }) =>
      !background && names.includes(trace.split(".")[0] ?? "") && good.effects.includes(lines[0] ?? ""),
  );
  return present(step?.lines[0]);
}

/** The last trace of a process that outlived its turn. */
function ended(good: Evidence): string {
  const step = commands(good).find(
    ({ lines, next, pty }) =>
      lines.length > 1 && next !== "kill" && !pty && good.effects.includes(lines[1] ?? ""),
  );
  return present(step?.lines[1]);
}

function denied(good: Evidence): string {
  return present(commands(good).find(({ asked }) => asked === "no")?.lines[0]);
}

function without(lines: readonly string[], line: string): string[] {
  return lines.filter((one) => one !== line);
}

function the(good: Evidence, fits: Fits): Sent {
  return present(good.witnessed.find((event): event is Sent => event.kind === "sent" && fits(event.text)));
}

function cut(good: Evidence, fits: Fits): Witnessed[] {
  const gone = the(good, fits);
  return good.witnessed.filter((event) => event !== gone);
}

function again(good: Evidence, fits: Fits): Witnessed[] {
  const twice = the(good, fits);
  // More than once: a text with an unknown outcome may have a notice or not.
  const copies = Array.from({ length: 4 }, (_, n) => ({
    ...twice,
    seq: good.witnessed.length + 1 + n,
    messageId: `again ${n}`,
  }));
  return [...good.witnessed, ...copies];
}

function moved(good: Evidence, fits: Fits): Witnessed[] {
  const gone = the(good, fits);
  const chat = gone.chat === "dm-ann" ? "dm-bob" : "dm-ann";
  return good.witnessed.map((event) => (event === gone ? { ...gone, chat } : event));
}

function silent(good: Evidence): Witnessed[] {
  const notice = the(good, isNotice);
  const [text = ""] = notice.text.split("\n\n");
  return good.witnessed.map((event) => (event === notice ? { ...notice, text } : event));
}

function own(good: Evidence, harm: (own: Belongings) => Partial<Belongings>): Evidence {
  const ann = present(good.people.ann);
  return { ...good, people: { ...good.people, ann: { ...ann, ...harm(ann) } } };
}

function mapped(files: Evidence["files"], harm: (text: string) => string): Evidence["files"] {
  return Object.fromEntries(Object.entries(files).map(([name, text]) => [name, harm(text)]));
}

function withoutResults(given: readonly Shape[]): readonly Shape[] {
  return given.filter(({ role }) => role !== "tool");
}

function running(processes: readonly Process[]): Process[] {
  const status = { state: "running", pid: 7, startTime: "7", keeper: "k", detached: false } as const;
  return processes.map((process, at) => (at === 0 ? { ...process, status } : process));
}

function failing(processes: readonly Process[]): Process[] {
  return processes.map((process) => ({ ...process, status: { state: "ended", at: 1, exit: { code: 99 } } }));
}

function unknown(processes: readonly Process[]): Process[] {
  return processes.map((process) =>
    process.status.state === "ended"
      ? { ...process, status: { ...process.status, exit: { unknown: true } } }
      : process,
  );
}
