import { PostriderError } from "../../core/errors.ts";
import type { Log } from "../../ports/log.ts";
import type { Timing } from "./timing.ts";

/** Which messages of an answer are replies. */
export type ReplyMode = "off" | "first" | "all";

export interface TelegramOptions {
  /** The token from BotFather: the bot's id, a colon and a secret. */
  readonly token: string;
  /** The root URL of the Bot API. Default https://api.telegram.org */
  readonly apiRoot?: string;
  /** In groups, receives only messages that mention the bot, reply to it or are commands. Default true. */
  readonly requireMention?: boolean;
  /** Which messages of an answer are replies to the input. Default `first`. */
  readonly replyTo?: ReplyMode;
  readonly log?: Log;
  /** Timers and randomness, for tests. */
  readonly timing?: Timing;
}

/** The checked token and URL. The check uses no network. */
export interface TelegramConnection {
  readonly token: string;
  readonly account: string;
  readonly apiRoot: string;
}

export function parseConnection({
  token,
  apiRoot = "https://api.telegram.org",
}: TelegramOptions): TelegramConnection {
  const account = /^(\d{1,20}):[\w-]{1,200}$/.exec(token)?.[1];
  if (account === undefined) {
    throw new PostriderError(
      "invalid_config",
      "The Telegram token must look like 123456789:AAE…, as BotFather gave it. Copy it again from @BotFather.",
      { details: { field: "token" } },
    );
  }
  if (!URL.canParse(apiRoot) || !/^https?:$/.test(new URL(apiRoot).protocol)) {
    throw new PostriderError(
      "invalid_config",
      "The address of the Telegram Bot API must begin with https:// or http://.",
      { details: { field: "apiRoot" } },
    );
  }
  return { token, account, apiRoot: apiRoot.replace(/\/+$/, "") };
}
