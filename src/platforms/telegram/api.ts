import type { Api, RawApi } from "grammy";
import { loadGrammy } from "./load-grammy.ts";
import type { TelegramConnection } from "./options.ts";
import { fetchBotApi, isNeverSent, NoApiAnswer, readNetworkErrorCode } from "./transport.ts";

/** Why a call failed. An error answer and a failed connection need different reactions. */
export type TelegramFailure =
  | {
      readonly kind: "answered";
      readonly code: number;
      readonly description: string;
      readonly retryAfterMs?: number;
      readonly movedTo?: number;
    }
  /** The request certainly had no effect. */
  | { readonly kind: "unreachable"; readonly reason: string }
  /** The request may have had an effect. */
  | { readonly kind: "lost"; readonly reason: string };

export type TelegramAnswer<T> =
  | { readonly ok: true; readonly value: T }
  | { readonly ok: false; readonly failure: TelegramFailure };

export type TelegramMethods = RawApi;
type CallSignal = Parameters<RawApi["getMe"]>[0];

export interface TelegramApi {
  readonly connection: TelegramConnection;
  /** Calls once, without a retry. A failure of the network or Telegram is a value, never an exception. */
  call<T>(
    request: (calls: TelegramMethods, signal: CallSignal) => Promise<T>,
    within: { readonly signal: AbortSignal; readonly ms: number },
  ): Promise<TelegramAnswer<T>>;
}

/** grammY's own time limit, longer than the limit of each call. */
const MAX_CALL_SECONDS = 900;

export function telegramApi(connection: TelegramConnection): TelegramApi {
  const grammy = loadGrammy();
  const { token, apiRoot } = connection;
  const api: Api = new grammy.Api(token, {
    apiRoot,
    timeoutSeconds: MAX_CALL_SECONDS,
    sensitiveLogs: false,
    fetch: fetchBotApi as unknown as NonNullable<ConstructorParameters<typeof Api>[1]>["fetch"] & {},
  });

  return {
    connection,
    async call(request, { signal, ms }) {
      if (signal.aborted) return failWith({ kind: "unreachable", reason: "stopped before the request" });
      const timeout = AbortSignal.timeout(ms);
      try {
        const value = await request(api.raw, AbortSignal.any([signal, timeout]) as unknown as CallSignal);
        return { ok: true, value };
      } catch (error) {
        if (error instanceof grammy.GrammyError) return failWith(toAnsweredFailure(error));
        if (!(error instanceof grammy.HttpError)) throw error;
        if (signal.aborted) return failWith({ kind: "lost", reason: "stopped while waiting for the answer" });
        if (timeout.aborted) {
          return failWith({ kind: "lost", reason: `no answer within ${Math.round(ms / 1000)} seconds` });
        }
        return failWith(toNetworkFailure(error.error));
      }
    },
  };
}

function failWith(failure: TelegramFailure): { readonly ok: false; readonly failure: TelegramFailure } {
  return { ok: false, failure };
}

function toAnsweredFailure(error: {
  readonly error_code: number;
  readonly description: string;
  readonly parameters: { readonly retry_after?: number; readonly migrate_to_chat_id?: number };
}): TelegramFailure {
  const { error_code: code, description, parameters } = error;
  const { retry_after: seconds, migrate_to_chat_id: movedTo } = parameters;
  return {
    kind: "answered",
    code,
    description,
    ...(seconds !== undefined && { retryAfterMs: seconds * 1000 }),
    ...(movedTo !== undefined && { movedTo }),
  };
}

function toNetworkFailure(error: unknown): TelegramFailure {
  if (error instanceof NoApiAnswer) {
    const reason = `HTTP status ${error.status} from something that is not the Bot API`;
    // A gateway that timed out had forwarded the request, and a truncated answer was an answer.
    const isHeard = error.status === 504 || error.status < 400;
    return isHeard ? { kind: "lost", reason } : { kind: "unreachable", reason };
  }
  if (isNeverSent(error))
    return { kind: "unreachable", reason: `no connection (${readNetworkErrorCode(error)})` };
  return { kind: "lost", reason: `the connection broke (${readNetworkErrorCode(error)})` };
}

/** The failure for people and logs. Never contains the token. */
export function formatTelegramFailure(failure: TelegramFailure): string {
  return failure.kind === "answered"
    ? `Telegram said: ${failure.description}`
    : `Telegram could not be reached: ${failure.reason}`;
}
