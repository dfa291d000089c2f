import { isDeepStrictEqual } from "node:util";
import { runProgram } from "../support/program.ts";
import { type Conversation, numberIn, type Prompt } from "./conversation.ts";
import { type Findings, hold, type Witness } from "./judge.ts";
import { isSaid, type Shown, shownBy } from "./shown.ts";
import { storedIn } from "./stored.ts";
import { startWire, type Update } from "./wire.ts";

/** The person at the editor across all killed processes, with a record of everything shown. */
export interface Desk {
  readonly answered: ReadonlySet<number>;
  /** The next prompt. */
  next(): Prompt;
  witness(): Witness;
  /** Starts another process. */
  sit(): Sitting;
}

/** One process of `postrider acp` until its end. Requests that end with a kill are no failures. */
export interface Sitting {
  initialize(): Promise<void>;
  create(): Promise<string | undefined>;
  /** Checks that the session is listed once. */
  list(session: string): Promise<void>;
  resume(session: string): Promise<void>;
  /** Opens the session and compares it with everything shown before. */
  load(session: string, isRunning?: boolean): Promise<readonly Update[] | undefined>;
  say(session: string, prompt: Prompt): Promise<void>;
  /** Waits until every stored message is shown here. */
  catchUp(session: string): Promise<void>;
  /** The updates of messages, without those about the thread. */
  pieces(): number;
  onCome(look: () => void): void;
  onQuestion(look: () => void): void;
  kill(): void;
  /** Kills the process and records what it showed. */
  killed(): Promise<void>;
  /** Like a closed editor. */
  closed(): Promise<void>;
}

export interface DeskOptions {
  readonly conversation: Conversation;
  readonly home: string;
  readonly cwd: string;
  readonly findings: Findings;
  readonly errors: string[];
}

const PATIENCE_MS = 30_000;

export function desk({ conversation, home, cwd, findings, errors }: DeskOptions): Desk {
  const prompts = new Map(conversation.prompts.map((prompt) => [prompt.number, prompt]));
  const [typed, answered] = [new Set<number>(), new Set<number>()];
  const streams: Shown[] = [];
  let before: Shown | undefined;
  let lives = 0;

  const witness = (): Witness => ({
    prompts,
    typed,
    answered,
    streams,
    ...(before !== undefined && { before }),
  });

  function judge(replay: readonly Update[], life: number, isRunning: boolean): void {
    const found = hold(replay, witness(), isRunning);
    // An error repeats in every later replay.
    for (const kind of ["lost", "doubled", "broken"] as const)
      for (const line of found[kind])
        if (!findings[kind].some((known) => known.endsWith(line)))
          findings[kind].push(`life ${life}: ${line}`);
  }

  function sit(): Sitting {
    lives += 1;
    const life = lives;
    const complain = (text: string): void => void errors.push(`life ${life}: ${text}`);
    const questions: (() => void)[] = [];
    /** The index of the update at which the session was opened last. */
    let from = 0;
    const wire = startWire({
      home,
      agent: conversation.agent,
      async asked(method, params) {
        const { toolCall } = params as { readonly toolCall?: { readonly title?: string } };
        const prompt = prompts.get(numberIn(toolCall?.title ?? "") ?? 0);
        if (method !== "session/request_permission" || prompt === undefined)
          complain(`asked ${method}: ${JSON.stringify(params)}`);
        for (const look of questions) look();
        return { outcome: { outcome: "selected", optionId: prompt?.isAllowed ? "once" : "deny" } };
      },
    });
    const shown = (): Update[] => wire.updates.slice(from).map(({ update }) => update);

    function remember(): void {
      const stream = shownBy(shown());
      if (stream.blocks.length + stream.broken.length > 0) streams.push(stream);
      from = wire.updates.length;
    }

    async function asked<Result>(method: string, params: unknown): Promise<Result | undefined> {
      const response = await withinMs(PATIENCE_MS, wire.request(method, params));
      if (response === "late") {
        complain(`${method} was not answered in ${PATIENCE_MS} ms`);
        wire.kill();
        return undefined;
      }
      if (response?.error !== undefined) complain(`${method} failed: ${JSON.stringify(response.error)}`);
      return response?.result as Result | undefined;
    }

    async function ended(): Promise<string> {
      const { code, signal, err, garbage } = await wire.ended;
      remember();
      if (err !== "") complain(err);
      for (const line of garbage) complain(`not of the protocol: ${line}`);
      return signal ?? String(code);
    }

    return {
      async initialize() {
        await asked("initialize", { protocolVersion: 1, clientCapabilities: {} });
      },
      async create() {
        const made = await asked<{ sessionId: string }>("session/new", { cwd, mcpServers: [] });
        return made?.sessionId;
      },
      async list(session) {
        const list = await asked<{ sessions: { sessionId: string; cwd: string }[] }>("session/list", { cwd });
        const same = list?.sessions.filter((one) => one.sessionId === session && one.cwd === cwd);
        if (same !== undefined && same.length !== 1)
          findings.lost.push(`life ${life}: the list has ${JSON.stringify(list)}`);
      },
      async resume(session) {
        await asked("session/resume", { sessionId: session, cwd });
        if (shown().some(isSaid)) findings.doubled.push(`life ${life}: a resume was followed by a replay`);
      },
      async load(session, isRunning = false) {
        remember();
        const answer = await asked("session/load", { sessionId: session, cwd, mcpServers: [] });
        // An interrupted replay counts only as shown.
        if (answer === undefined) return undefined;
        const replay = shown().filter(isSaid);
        judge(replay, life, isRunning);
        before = shownBy(replay);
        return replay;
      },
      async say(session, prompt) {
        typed.add(prompt.number);
        const said = { sessionId: session, prompt: [{ type: "text", text: prompt.text }] };
        const end = await asked<{ stopReason: string }>("session/prompt", said);
        if (end?.stopReason === "end_turn") answered.add(prompt.number);
        else if (end !== undefined) complain(`prompt ${prompt.number} ended with ${end.stopReason}`);
      },
      async catchUp(session) {
        const { out } = await runProgram(home, "sessions", "show", session, "--json");
        const stored = storedIn(out).map(({ number, runs }) => ({ number, runs }));
        const isAll = (): boolean =>
          isDeepStrictEqual(
            shownBy(shown()).blocks.map(({ number, runs }) => ({ number, runs })),
            stored,
          );
        const caughtUp = new Promise<void>((resolve) => {
          const look = (): void => (isAll() ? resolve() : undefined);
          wire.onCome(look);
          look();
        });
        if ((await withinMs(PATIENCE_MS / 3, caughtUp)) === "late") {
          const here = shownBy(shown()).blocks.slice(-3);
          const lines = [here, stored.slice(-3)].map((blocks) =>
            JSON.stringify(blocks.map(({ number, runs }) => [number, runs.length])),
          );
          findings.lost.push(`life ${life}: another window shows ${lines[0]} of ${lines[1]}`);
        }
      },
      pieces: () => wire.updates.filter(({ update }) => isSaid(update)).length,
      onCome: wire.onCome,
      onQuestion: (look) => void questions.push(look),
      kill: wire.kill,
      async killed() {
        wire.kill();
        const how = await ended();
        if (how !== "SIGKILL") complain(`ended by itself with ${how}`);
      },
      async closed() {
        wire.hangUp();
        const how = await ended();
        if (how !== "0") complain(`ended with ${how}`);
      },
    };
  }

  return {
    answered,
    witness,
    sit,
    next() {
      const prompt = prompts.get(typed.size + 1);
      if (prompt === undefined) throw new Error("there is nothing left to say");
      return prompt;
    },
  };
}

async function withinMs<Value>(ms: number, value: Promise<Value>): Promise<Value | "late"> {
  const { promise, resolve } = Promise.withResolvers<"late">();
  const timer = setTimeout(resolve, ms, "late");
  try {
    return await Promise.race([value, promise]);
  } finally {
    clearTimeout(timer);
  }
}
