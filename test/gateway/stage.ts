import { join } from "node:path";
import type { Child } from "../support/child.ts";
import { temporaryFolder } from "../support/folder.ts";
import { type Judge, type ShownMessage, shownIn, startGatewayChild } from "./drive.ts";
import type { ChildLine, ChildOptions } from "./gateway-process.ts";
import type { ChatPlace, FileJson, MessengerOptions, Witnessed } from "./protocol.ts";
import { type Given, givenIn } from "./telling-agent.ts";

/** A separate messenger, a home, and gateways in separate processes. */
export interface Stage {
  readonly judge: Judge;
  readonly file: string;
  /** Starts a gateway, */
  launch(more?: Partial<ChildOptions>): Child;
  /** and waits until it is connected. */
  start(more?: Partial<ChildOptions>): Promise<Child>;
  /** Sends a text and returns the bot's next message in the same chat. Only if no other answer is in progress. */
  ask(place: ChatPlace, person: string, words: string, files?: readonly FileJson[]): Promise<ShownMessage>;
  /** The first past or future message of the bot that matches. */
  sees(what: string, fits: (message: ShownMessage) => boolean): Promise<ShownMessage>;
  /** All inputs of the agent, in order. */
  given(): readonly Given[];
  /** The logged errors of the gateways. */
  complaints(level?: "warn" | "error"): readonly string[];
  end(): Promise<void>;
}

/** The options of every gateway of this stage. */
export async function openStage(
  judges: Judge,
  options: Partial<ChildOptions> = {},
  messenger: MessengerOptions = {},
): Promise<Stage> {
  const folder = temporaryFolder();
  const judge = await judges.another({ idempotent: true, ...messenger });
  const file = join(folder.path, "postrider.db");
  const children: Child[] = [];

  function launch(more: Partial<ChildOptions> = {}): Child {
    const { url, token, effects } = judge;
    const child = startGatewayChild({
      file,
      judge: { url, token, effects },
      outbound: "idempotent",
      ...options,
      ...more,
    });
    children.push(child);
    return child;
  }

  const sees = (what: string, fits: (message: ShownMessage) => boolean): Promise<ShownMessage> =>
    judge.until(what, (all) => shownIn(all).find(fits));

  return {
    judge,
    file,
    sees,
    launch,
    async start(more = {}) {
      const child = launch(more);
      await child.heard<ChildLine>((line) => "ready" in line);
      return child;
    },
    async ask(place, person, words, files) {
      const { messageId } = await judge.say(place, person, words, files);
      const at = await judge.until(
        "what was said",
        (all) =>
          all.find(
            (event) => event.kind === "said" && event.chat === place.chat && event.messageId === messageId,
          )?.seq,
      );
      return sees(
        `an answer to ${words.slice(0, 60)}`,
        (message) => message.chat === place.chat && message.thread === place.thread && message.seq > at,
      );
    },
    given: () => givenTo(judge.witnessed),
    complaints: (level = "error") =>
      children
        .flatMap(({ lines }) => lines as readonly ChildLine[])
        .flatMap((line) => ("level" in line && line.level === level ? [JSON.stringify(line)] : [])),
    async end() {
      for (const child of children) child.process.kill("SIGKILL");
      await Promise.all(children.map(({ ended }) => ended));
      folder.remove();
    },
  };
}

export function givenTo(witnessed: readonly Witnessed[]): readonly Given[] {
  return witnessed.flatMap((event) => (event.kind === "effect" ? (givenIn(event.name) ?? []) : []));
}
