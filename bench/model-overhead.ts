import { model } from "../src/agents/model/model.ts";
import { loadLanguageModel, type ModelChoice } from "../src/agents/model/provider.ts";
import {
  buildRouting,
  DEFAULT_RESET,
  localRunner,
  localSource,
  type Routing,
  sqliteStore,
  systemClock,
  systemZone,
} from "../src/index.ts";
import { runTurn } from "../src/turns/run-turn.ts";
import { startModelServer } from "../test/support/model-endpoint.ts";
import { median } from "./measure.ts";
import { newFile, text } from "./subjects.ts";

export interface ModelOverhead {
  /** Medians in milliseconds: a call of the bare client, a whole turn, and what that takes more than the call before it. */
  readonly bare: number;
  readonly turn: number;
  readonly more: number;
}

/** Said before, so that both send the same twenty messages. */
const EARLIER = 20;
/** These pay for compiling what the others run. */
const WARM_UP = 30;
const ANSWER = Array.from({ length: 40 }, (_, n) => `word${n} `);

/**
 * A turn from the accepted message to the stored answer, beside the bare client's call with the same messages, against
 * the same server on this machine. They take turns one by one, so that what else the machine does meets both. Each turn
 * has a session of its own, so that neither side's history grows.
 */
export async function modelOverhead(mode: "workers" | "in-process", turns: number): Promise<ModelOverhead> {
  const usage = { prompt_tokens: 500, completion_tokens: 40, total_tokens: 540 };
  const server = await startModelServer({ say: ANSWER, usage });
  const store = await sqliteStore({ file: newFile(), mode });
  try {
    const choice: ModelChoice = { provider: "compatible", model: "bench", baseUrl: server.url };
    const agent = model(choice);
    const runner = localRunner();
    await store.runners.recordHeartbeat({ runner, now: Date.now() });
    let chats = 0;
    const newChat = async (): Promise<Routing> => {
      chats += 1;
      const source = { ...localSource(), chatId: `chat-${chats}` };
      const settings = {
        zone: systemZone(),
        profile: "main",
        reset: DEFAULT_RESET,
        scope: {},
        clock: systemClock,
      };
      const { session } = await store.conversations.open(buildRouting(source, settings));
      await store.messages.append({
        asker: { everyone: true },
        session: session.id,
        messages: Array.from({ length: EARLIER }, (_, n) => ({
          role: n % 2 === 0 ? ("user" as const) : ("assistant" as const),
          parts: [{ type: "text" as const, text: text(n) }],
        })),
        now: Date.now(),
      });
      return buildRouting(source, settings);
    };

    const turn = async (routing: Routing): Promise<void> => {
      const accepted = await store.inbox.accept({
        ...routing,
        messageId: "1",
        message: { role: "user", parts: [{ type: "text", text: "And now?" }] },
        claim: { runner: runner.id, take: "one" },
      });
      if (accepted.duplicate || !("turn" in accepted) || accepted.turn === undefined)
        throw new Error("the turn did not begin");
      const { outcome } = await runTurn(accepted.turn, {
        store,
        agent,
        clock: systemClock,
        claimNext: () => undefined,
        signal: new AbortController().signal,
      });
      if (outcome !== "done") throw new Error(`the turn ${outcome}`);
    };

    const { streamText } = await import("ai");
    const call = async (): Promise<void> => {
      const { stream } = streamText({
        model: await loadLanguageModel(choice),
        instructions: "You are a helpful assistant.",
        messages: [
          ...Array.from({ length: EARLIER }, (_, n) => ({
            role: n % 2 === 0 ? ("user" as const) : ("assistant" as const),
            content: text(n),
          })),
          { role: "user", content: "And now?" },
        ],
      });
      let said = "";
      for await (const part of stream) if (part.type === "text-delta") said += part.text;
      if (said !== ANSWER.join("")) throw new Error("the bare call was not answered");
    };

    const [bare, whole]: [number[], number[]] = [[], []];
    for (let n = -WARM_UP; n < turns; n += 1) {
      const routing = await newChat();
      const [one, other] = [await took(call), await took(() => turn(routing))];
      if (n < 0) continue;
      bare.push(one);
      whole.push(other);
    }
    return {
      bare: median(bare),
      turn: median(whole),
      more: median(whole.map((ms, n) => ms - (bare[n] ?? Number.NaN))),
    };
  } finally {
    await store.close();
    server.close();
  }
}

async function took(step: () => Promise<void>): Promise<number> {
  const before = performance.now();
  await step();
  return performance.now() - before;
}
