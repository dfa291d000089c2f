import { type Child, startChild } from "../support/child.ts";
import type { ChildOptions } from "./gateway-process.ts";
import type {
  ChatPlace,
  FileJson,
  MessengerOptions,
  PlannedFault,
  SendRequest,
  Witnessed,
} from "./protocol.ts";

/** One message of the bot as a person sees it now. */
export interface ShownMessage extends Pick<SendRequest, "chat" | "thread" | "replyTo" | "buttons" | "files"> {
  readonly messageId: string;
  /** The number of its first event. */
  readonly seq: number;
  readonly text: string;
  /** All its texts, in order. */
  readonly texts: readonly string[];
  readonly nonce: string;
}

/** The judge, and controls of the people in the messenger. */
export interface Judge {
  readonly url: string;
  readonly token: string;
  /** The events that this process has read so far. */
  readonly witnessed: readonly Witnessed[];
  say(
    place: ChatPlace,
    person: string,
    text: string,
    files?: readonly FileJson[],
  ): Promise<{ readonly messageId: string }>;
  /** An edit, or without a text a deletion. */
  change(chat: string, messageId: string, text?: string): Promise<void>;
  press(chat: string, messageId: string, person: string, line: string): Promise<void>;
  bringAgain(chat: string): Promise<void>;
  plan(fault: PlannedFault): Promise<void>;
  /** Releases held answers. */
  release(): Promise<void>;
  chances(chances?: MessengerOptions["chances"]): Promise<void>;
  reset(options: MessengerOptions): Promise<void>;
  /** Waits until the condition is true, and checks it after every event. Rejects after a time limit. */
  until<T>(
    what: string,
    look: (witnessed: readonly Witnessed[]) => T | undefined | false,
    patienceMs?: number,
  ): Promise<T>;
  /** Passes all events in order, until the signal aborts. */
  follow(each: (event: Witnessed) => void, signal: AbortSignal): Promise<void>;
  /** The current messages of the bot in one chat or in all. */
  shown(chat?: string): Promise<readonly ShownMessage[]>;
  /** The URL for tools with an outside effect. */
  readonly effects: { readonly url: string; readonly headers: Readonly<Record<string, string>> };
  /** Another, independent messenger in the same process. */
  another(options: MessengerOptions): Promise<Judge>;
  /** Ends the process with all its messengers. */
  stop(): Promise<void>;
}

const PATIENCE_MS = 25_000;
/** The interval at which a follower checks its signal. */
const FOLLOW_MS = 500;

export async function startJudge(options: MessengerOptions = {}): Promise<Judge> {
  const child = startChild(new URL("./judge.ts", import.meta.url), []);
  const { url, control } = await child.heard<{ url: string; control: string }>(() => true);
  const stop = async (): Promise<void> => {
    child.process.kill("SIGKILL");
    await child.ended;
  };
  return openMessenger({ url, control, stop }, options);
}

interface Process extends Pick<Judge, "url" | "stop"> {
  readonly control: string;
}

async function openMessenger(process: Process, options: MessengerOptions): Promise<Judge> {
  const { url, control, stop } = process;
  const headers: Record<string, string> = { authorization: `Bearer ${control}` };

  async function ask(name: string, body?: object): Promise<Readonly<Record<string, unknown>>> {
    const response = await fetch(`${url}/control/${name}`, {
      method: body === undefined ? "GET" : "POST",
      headers,
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
    const answer = (await response.json()) as Readonly<Record<string, unknown>>;
    if (!response.ok) throw new Error(`the judge says to ${name}: ${answer.error}`);
    return answer;
  }

  const token = String((await ask("open", options)).token);
  headers["x-token"] = token;
  let witnessed: Witnessed[] = [];

  async function look(waitMs: number): Promise<void> {
    const after = witnessed.length;
    const answer = await ask(`report?after=${after}&wait=${waitMs}`);
    // Two calls may run at once: events that both received are stored once.
    const more = (answer.witnessed as Witnessed[]).filter(({ seq }) => seq > witnessed.length);
    witnessed.push(...more);
  }

  return {
    url,
    token,
    get witnessed() {
      return witnessed;
    },
    say: async (place, person, text, files) =>
      (await ask("say", { ...place, person, text, ...(files !== undefined && { files }) })) as {
        messageId: string;
      },
    change: async (chat, messageId, text) => void (await ask("change", { chat, messageId, text })),
    press: async (chat, messageId, person, line) =>
      void (await ask("press", { chat, messageId, person, line })),
    bringAgain: async (chat) => void (await ask("again", { chat })),
    plan: async (fault) => void (await ask("plan", fault)),
    release: async () => void (await ask("release", {})),
    chances: async (chances) => void (await ask("chances", { chances })),
    async reset(others) {
      await ask("reset", others);
      witnessed = [];
    },
    async until(what, fits, patienceMs = PATIENCE_MS) {
      const patience = Date.now() + patienceMs;
      for (;;) {
        const found = fits(witnessed);
        if (found !== undefined && found !== false) return found;
        const left = patience - Date.now();
        if (left <= 0) throw new Error(`not within ${patienceMs} ms: ${what}\n${tail(witnessed)}`);
        await look(left);
      }
    },
    async follow(each, signal) {
      for (let next = 0; !signal.aborted; ) {
        await look(FOLLOW_MS);
        for (; next < witnessed.length; next += 1) {
          const event = witnessed[next];
          if (event !== undefined) each(event);
        }
      }
    },
    async shown(chat) {
      await look(0);
      return shownIn(witnessed).filter((message) => chat === undefined || message.chat === chat);
    },
    effects: { url: `${url}/control/effect`, headers },
    another: (others) => openMessenger(process, others),
    stop,
  };
}

/** The bot's current messages after these events, in order of their first event. */
export function shownIn(witnessed: readonly Witnessed[]): readonly ShownMessage[] {
  const shown = new Map<string, ShownMessage>();
  for (const event of witnessed) {
    if (event.kind === "sent") {
      const { at: _, kind: __, members: ___, ...rest } = event;
      shown.set(`${event.chat}/${event.messageId}`, { ...rest, texts: [event.text] });
    } else if (event.kind === "edited") {
      const key = `${event.chat}/${event.messageId}`;
      const before = shown.get(key);
      if (before === undefined) continue;
      const { text, buttons = before.buttons } = event;
      const { buttons: _, ...rest } = before;
      const texts = [...before.texts, text];
      shown.set(key, { ...rest, text, texts, ...(buttons !== undefined && { buttons }) });
    }
  }
  return [...shown.values()];
}

/** Starts a separate gateway that receives as the judge's bot. It prints a `ready` line when it is connected. */
export function startGatewayChild(options: ChildOptions): Child {
  return startChild(new URL("./child.ts", import.meta.url), [JSON.stringify(options)]);
}

function tail(witnessed: readonly Witnessed[]): string {
  return witnessed
    .slice(-12)
    .map((event) => JSON.stringify(event).slice(0, 300))
    .join("\n");
}
