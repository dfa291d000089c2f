import { echo } from "../../src/agents/echo.ts";
import { script } from "../../src/agents/script.ts";
import { PostriderError } from "../../src/core/errors.ts";
import type { GatewaySettings } from "../../src/core/gateway-settings.ts";
import { DEFAULT_TOOLS } from "../../src/core/tool-settings.ts";
import { startGateway } from "../../src/gateway/gateway.ts";
import { localRunner, NO_RESET, sqliteStore, systemClock } from "../../src/index.ts";
import { telegram } from "../../src/platforms/telegram/platform.ts";
import type { Agent } from "../../src/ports/agent.ts";
import type { Log } from "../../src/ports/log.ts";
import { endWithParent, say } from "../support/child.ts";
import { describingAgent } from "./describing-agent.ts";

export interface TelegramChildOptions {
  /** The database. */
  readonly file: string;
  readonly token: string;
  readonly apiRoot: string;
  /** The answers of a script; `echo` repeats, `describing` describes its input. */
  readonly agent?: "echo" | "describing" | { readonly answers: readonly unknown[] };
  readonly settings?: Partial<GatewaySettings>;
  /** How the store runs; by default as in the program. */
  readonly storeMode?: "workers" | "in-process";
}

/** Its output, one value per line. */
export type TelegramChildLine =
  | { readonly ready: true }
  /** It failed to start, or ended by itself. */
  | { readonly failed: { readonly code: string; readonly message: string } }
  | {
      readonly level: "debug" | "info" | "warn" | "error";
      readonly words: string;
      readonly fields: Readonly<Record<string, unknown>>;
    };

export async function runTelegramGateway(options: TelegramChildOptions): Promise<void> {
  const { file, token, apiRoot } = options;
  endWithParent();
  const agent = agentOf(options.agent ?? "echo");
  const log = printed();
  const settings: GatewaySettings = {
    zone: "UTC",
    profile: "main",
    reset: { default: NO_RESET, byType: {}, byPlatform: {} },
    scope: {},
    privacy: {},
    access: { everywhere: { allowAll: true }, platforms: {} },
    busy: "queue",
    maxPending: 1000,
    turnMinutes: 5,
    streaming: true,
    personalities: {},
    homes: [],
    tools: DEFAULT_TOOLS,
    memory: { enabled: true, flush: true },
    ...options.settings,
  };
  const store = await sqliteStore({ file, mode: options.storeMode ?? "workers" });
  const tell = (error: unknown): void => {
    const { message } = error as Error;
    const code = error instanceof PostriderError ? error.code : "internal";
    say({ failed: { code, message } } satisfies TelegramChildLine);
    process.exit(1);
  };
  try {
    const gateway = await startGateway({
      store,
      runner: localRunner(),
      clock: systemClock,
      platforms: [telegram({ token, apiRoot, log })],
      settings: () => settings,
      agent: () => agent,
      log,
    });
    gateway.ended.catch(tell);
    process.once("SIGTERM", () => {
      void gateway
        .stop()
        .then(() => store.close())
        .then(() => process.exit(0));
    });
  } catch (error) {
    tell(error);
  }
}

function agentOf(named: NonNullable<TelegramChildOptions["agent"]>): Agent {
  if (named === "echo") return echo;
  return named === "describing" ? describingAgent : script(named);
}

function printed(): Log {
  const tell = (level: "debug" | "info" | "warn" | "error") => (fields: object, words: string) => {
    say({ level, words, fields: readable(fields) } satisfies TelegramChildLine);
    if (words === "connected") say({ ready: true } satisfies TelegramChildLine);
  };
  return { debug: tell("debug"), info: tell("info"), warn: tell("warn"), error: tell("error") };
}

/** The fields of an error, which JSON omits. */
function readable(fields: object): Record<string, unknown> {
  return JSON.parse(
    JSON.stringify(fields, (_, value: unknown) => (value instanceof Error ? (value.stack ?? "") : value)),
  ) as Record<string, unknown>;
}
