import { readFileSync } from "node:fs";
import { text as readAll } from "node:stream/consumers";
import { PostriderError } from "../../../core/errors.ts";
import { usageError } from "../command.ts";
import type { Io } from "../io.ts";
import type { SetupGuide } from "./guide.ts";

export interface TokenOptions {
  readonly token?: string | undefined;
  readonly file?: string | undefined;
  /** The one that is set up already. */
  readonly known?: string | undefined;
}

/** As BotFather writes it. */
const TOKEN_PATTERN = /^\d{1,20}:[\w-]{1,200}$/;

/** Said on the command line, in a file, in the environment, known already, or asked for. */
export async function resolveToken(
  io: Io,
  guide: SetupGuide,
  { token, file, known }: TokenOptions,
): Promise<string> {
  if (token !== undefined && file !== undefined)
    throw usageError("--token and --token-file exclude each other", "connect telegram");
  const given =
    token ?? (file === undefined ? io.environment.TELEGRAM_BOT_TOKEN : await readTokenFile(io, file));
  if (given !== undefined && given.trim() !== "") return parseToken(given);
  if (!guide.isInteractive && known !== undefined) return known;
  if (guide.isInteractive) guide.show(HOW_TO_GET_TOKEN);
  const typed = await guide.askSecret(
    known === undefined ? "The bot's token:" : "The bot's token (Enter alone keeps the one you have):",
    (answer) =>
      TOKEN_PATTERN.test(answer.trim()) || (known !== undefined && answer.trim() === "")
        ? undefined
        : INVALID_TOKEN,
    `${HOW_TO_GET_TOKEN}\nThen: postrider connect telegram --token-file FILE (or - for stdin, or TELEGRAM_BOT_TOKEN in the environment).`,
  );
  return typed.trim() === "" && known !== undefined ? known : parseToken(typed);
}

const HOW_TO_GET_TOKEN = `A bot is made in a minute: open https://t.me/BotFather in Telegram, send /newbot, choose a name and a username.
BotFather answers with the token, which looks like 123456789:AAE… Whoever has it controls the bot, so show it to nobody.`;
const INVALID_TOKEN = "A token looks like 123456789:AAE…: copy the whole of it from BotFather's message.";

async function readTokenFile(io: Io, file: string): Promise<string> {
  if (file === "-") return readAll(io.input);
  try {
    return readFileSync(file, "utf8");
  } catch (error) {
    throw new PostriderError("not_found", `${file} cannot be read: ${(error as Error).message}.`, {
      cause: error,
    });
  }
}

function parseToken(given: string): string {
  const token = given.trim();
  if (TOKEN_PATTERN.test(token)) return token;
  throw new PostriderError("invalid_input", INVALID_TOKEN, { details: { field: "token" } });
}
