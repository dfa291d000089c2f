import { join } from "node:path";
import { callTool } from "../../src/agents/call-tool.ts";
import { getText, type Message } from "../../src/core/message.ts";
import type { Agent, AgentEvent, AgentTurn } from "../../src/ports/agent.ts";
import type { Random } from "../support/random.ts";
import { isShared, marksIn, mayKnow, nameOf, type Origin, type Witness } from "./witness.ts";

export interface ErrandOptions {
  readonly witness: Witness;
  readonly random: Random;
  /** The working folder of commands. */
  readonly workspace: string;
  /** Reads the process's own state, which must not change: checked after each tool call. */
  readonly around: () => string;
}

type Calling = (name: string, given: object) => AsyncGenerator<AgentEvent, string>;

/** The context of one turn. */
interface Errand extends ErrandOptions {
  readonly mark: string;
  readonly from: Origin;
  /** Its own folder in the workspace. */
  readonly folder: string;
  /** State that only turns of the same conversation share. */
  readonly conversation: string;
  readonly call: Calling;
}

const ERRAND = /\b(work|danger|wait|call \w+) (z[a-z]+x\d+)\b/;

/**
 * An agent that reports all its input to the witness, and repeats every mark in it. `work MARK` uses every tool, in a random
 * order; `danger MARK` needs an approval; `wait MARK` runs until a file exists; `call NAME MARK` calls one tool.
 */
export function errandAgent(options: ErrandOptions): Agent {
  const { witness } = options;
  return {
    name: "errands",
    canTitle: true,
    async *run(turn, signal) {
      const { history, prompt = "", volatilePrompt = "", note = "", tools = [] } = turn;
      const said = getText(history.at(-1) ?? { parts: [] });
      const everything = [...history.map(read), prompt, volatilePrompt, note].join("\n");
      const isAsked = !/^(?:Write a title|The conversation above is about|\[The background process)/.test(
        said,
      );
      const [, verb = "", named] = (isAsked ? ERRAND.exec(said) : undefined) ?? [];
      const mark = named ?? marksIn(said)[0] ?? marksIn(everything)[0] ?? "";
      if (mark === "") return;
      const from = witness.origins.get(mark);
      if (from === undefined) return witness.blame(`nobody has said ${mark}`);
      witness.tell({ mark, what: "its prompt and history", words: everything });
      if (/^Write a title/.test(said))
        return yield { type: "text", text: `About ${marksIn(everything).join(" ")}` };
      if (/^The conversation above is about/.test(said)) return yield* flush(mark, turn, signal, witness);
      if (verb === "") return yield { type: "text", text: `woken ${marksIn(said).join(" ")}` };
      witness.offer(
        mark,
        tools.map(({ name }) => name),
      );
      let calls = 0;
      const seen = new Set(marksIn(everything));
      async function* call(name: string, given: object): AsyncGenerator<AgentEvent, string> {
        calls += 1;
        const before = options.around();
        const wanted = { id: `${mark}-${calls}`, name, arguments: given };
        const output = yield* callTool(wanted, tools, signal);
        if (options.around() !== before)
          witness.blame(`${name} of ${mark} has changed the process it runs in`);
        const words = getText(output ?? { parts: [] });
        witness.tell({ mark, what: name, words });
        for (const one of marksIn(words)) seen.add(one);
        return words;
      }
      const errand: Errand = {
        ...options,
        mark,
        from,
        folder: folderOf(from),
        conversation: from.background ? `${folderOf(from)}, in the background` : nameOf(from),
        call,
      };
      const [kind = "", name = ""] = verb.split(" ");
      if (kind === "work") yield* work(errand);
      else if (kind === "danger") yield* danger(errand);
      else if (kind === "wait") yield* wait(errand);
      else yield* call(name, { command: `echo ${mark}`, path: ".", action: "list", content: mark });
      if (!signal.aborted) yield { type: "text", text: `done ${mark}, and I know of ${[...seen].join(" ")}` };
    },
  };
}

async function* work(errand: Errand): AsyncGenerator<AgentEvent, void> {
  const { from } = errand;
  // A background task in a topic writes to a private session of its person.
  const looks = from.background && isShared(from.spot) ? [] : [search];
  const steps = [environment, background, files, remember, strangers, ...looks];
  for (const step of shuffled(steps, errand.random)) yield* step(errand);
}

/** Its own folder, its own variables, and no data of other people. */
async function* environment({
  mark,
  folder,
  workspace,
  call,
  witness,
}: Errand): AsyncGenerator<AgentEvent, void> {
  const secrets = `printf 'secrets<%s%s>\\n' "$TELEGRAM_BOT_TOKEN" "$MY_API_KEY"`;
  const command = `mkdir -p ${folder} && cd ${folder} && export LEFT=${mark} && env && ${secrets} && pwd`;
  const printed = (yield* call("terminal", { command })).split("\n");
  for (const line of ["secrets<>", `LEFT=${mark}`, join(workspace, folder)])
    if (!printed.includes(line)) witness.blame(`${mark} has not printed ${line}: ${printed.join(" | ")}`);
  if (printed.some((line) => /^(TELEGRAM|MY_API|POSTRIDER_(?!RUN_BY_AGENT=|PROCESS=))/.test(line)))
    witness.blame(`${mark} sees what programs must not see`);
  const again = yield* call("terminal", { command: "pwd; echo left:$LEFT", workdir: folder });
  if (!again.startsWith(`${join(workspace, folder)}\nleft:\n`))
    witness.blame(`the next command of ${mark} began so: ${again}`);
}

const ENDINGS: readonly object[] = [{ notify: "result" }, { notify_on_complete: true }];

async function* background(errand: Errand): AsyncGenerator<AgentEvent, void> {
  const { mark, conversation, call, witness, random } = errand;
  for (const ends of [false, true]) {
    const command = ends ? `echo ${mark}; exit 3` : `echo ${mark}; exec sleep 600`;
    const how = ends ? random.pick(ENDINGS) : { notify: "off" };
    const started = yield* call("terminal", { command, background: true, ...how });
    const id = /"session_id":"(proc_\w+)"/.exec(started)?.[1];
    if (id === undefined) witness.blame(`${mark} could not be started: ${started}`);
    else witness.begin({ id, mark, conversation, ends });
  }
  const own = witness.begun.filter((one) => one.conversation === conversation);
  const listed = yield* call("process", { action: "list" });
  const ids = new Set(listed.match(/proc_[0-9a-f]{12}/g));
  for (const { id } of own)
    if (!ids.delete(id)) witness.blame(`${mark} does not see its own ${id}: ${listed}`);
  if (ids.size > 0) witness.blame(`${mark} sees ${[...ids].join(", ")}`);
  const { id = "" } = own.findLast(({ ends }) => !ends) ?? {};
  const written = yield* call("process", { action: "write", session_id: id, data: `${mark}\n` });
  if (!written.includes('"ok"')) witness.blame(`${mark} cannot write to its own process: ${written}`);
  yield* call("process", { action: random.pick(["poll", "log"]), session_id: id });
}

async function* files({ mark, folder, call, witness }: Errand): AsyncGenerator<AgentEvent, void> {
  const path = join(folder, `${mark}.txt`);
  yield* call("write_file", { path, content: `${mark}\n` });
  const text = yield* call("read_file", { path });
  if (!text.includes(mark)) witness.blame(`${mark} reads in its own file: ${text}`);
}

async function* remember({ mark, call, witness }: Errand): AsyncGenerator<AgentEvent, void> {
  const kept = yield* call("memory", { action: "add", text: `likes ${mark}` });
  if (!kept.includes(mark)) witness.blame(`${mark} was not remembered: ${kept}`);
}

/** In capitals a mark matches the same text, but is not a mark itself. */
async function* search({ mark, from, call, witness, random }: Errand): AsyncGenerator<AgentEvent, void> {
  yield* call("session_search", { query: "holiday", limit: 5 });
  yield* call("session_search", {});
  const others = [...witness.origins].filter(([, other]) => !mayKnow(from, other)).map(([other]) => other);
  for (const other of shuffled(others, random).slice(0, 3)) {
    const found = yield* call("session_search", { query: other.toUpperCase() });
    if (!/"count": 0/.test(found)) witness.blame(`${mark} has searched for ${other}: ${found}`);
  }
}

/** Tries to use the processes of other people by their ids. */
async function* strangers(errand: Errand): AsyncGenerator<AgentEvent, void> {
  const { mark, conversation, call, witness, random } = errand;
  const others = witness.begun.filter((one) => one.conversation !== conversation);
  for (const { id } of shuffled(others, random).slice(0, 2)) {
    const action = random.pick(["poll", "log", "wait", "write", "submit", "kill"]);
    const said = yield* call("process", { action, session_id: id, data: mark });
    if (!/"not_found"/.test(said)) witness.blame(`${mark} could ${action} ${id}: ${said}`);
  }
}

/** The folder exists before, so that its removal can be detected. */
async function* danger({ mark, folder, call }: Errand): AsyncGenerator<AgentEvent, void> {
  yield* call("terminal", { command: `mkdir -p ${folder}/${mark}` });
  yield* call("terminal", { command: `rm -rf ${mark}`, workdir: folder });
}

async function* wait({ mark, call }: Errand): AsyncGenerator<AgentEvent, void> {
  yield* call("terminal", {
    command: `echo begun > begun-${mark}; until [ -e go-${mark} ]; do sleep 0.05; done; echo went-${mark}`,
  });
}

/** The memory of a session that was left: every mark in it. */
async function* flush(
  mark: string,
  { history, tools = [] }: AgentTurn,
  signal: AbortSignal,
  witness: Witness,
): AsyncGenerator<AgentEvent, void> {
  const given = {
    action: "add",
    text: `said ${marksIn(history.map(read).join("\n")).slice(0, 5).join(" ")}`,
  };
  const output = yield* callTool({ id: `${mark}-flush`, name: "memory", arguments: given }, tools, signal);
  witness.tell({ mark, what: "the flush", words: getText(output ?? { parts: [] }) });
}

/** As a model reads it. */
function read(message: Message): string {
  return [getText(message), ...(message.toolCalls ?? []).map((call) => JSON.stringify(call))].join(" ");
}

export function shuffled<One>(list: readonly One[], random: Random): readonly One[] {
  return list
    .map((one) => ({ one, at: random.next() }))
    .sort((a, b) => a.at - b.at)
    .map(({ one }) => one);
}

export function folderOf({ person, spot }: Pick<Origin, "person" | "spot">): string {
  return `${person}-${spot.chat}${isShared(spot) ? `-${spot.thread}` : ""}`;
}
