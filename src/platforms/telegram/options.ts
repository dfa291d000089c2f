import { PostriderError } from "../../core/errors.ts";
import type { Log } from "../../ports/log.ts";
import type { Timing } from "./timing.ts";

/** No message of an answer is a reply, the first one is, or all are. */
export type ReplyMode = "off" | "first" | "all";

export interface TelegramOptions {
  /** As BotFather gave it: the bot's id, a colon, a secret. */
  readonly token: string;
  /** Where the Bot API answers. Default https://api.telegram.org */
  readonly apiRoot?: string;
  /** In groups, only what mentions the bot, replies to it or is a command is received. Default true. */
  readonly requireMention?: boolean;
  /** Which messages of an answer refer to the message that they answer, where the gateway names it. Default `first`. */
  readonly replyTo?: ReplyMode;
  readonly log?: Log;
  /** For tests: waiting and chance. */
  readonly timing?: Timing;
}

/** What the token and the address are, or what is wrong with them. Nothing is asked of anybody. */
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
