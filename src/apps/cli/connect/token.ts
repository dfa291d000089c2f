import { readFileSync } from "node:fs";
import { text as readAll } from "node:stream/consumers";
import { PostriderError } from "../../../core/errors.ts";
import { usageError } from "../command.ts";
import type { Io } from "../io.ts";
import type { SetupGuide } from "./guide.ts";

export interface TokenOptions {
  readonly token?: string | undefined;
  readonly file?: string | undefined;
  /** The configured token. */
  readonly known?: string | undefined;
}

/** The format of a token from BotFather. */
const TOKEN_PATTERN = /^\d{1,20}:[\w-]{1,200}$/;

/** Reads the token from the options, a file, the environment or the configuration, or asks for it. */
export async function resolveToken(
  io: Io,
  guide: SetupGuide,
  { token, file, known }: TokenOptions,
): Promise<string> {
  if (token !== undefined && file !== undefined)
    throw usageError("--token and --token-file cannot be used together", "connect telegram");
  const given =
    token ?? (file === undefined ? io.environment.TELEGRAM_BOT_TOKEN : await readTokenFile(io, file));
  if (given !== undefined && given.trim() !== "") return parseToken(given);
  if (!guide.isInteractive && known !== undefined) return known;
  if (guide.isInteractive) guide.show(HOW_TO_GET_TOKEN);
  const typed = await guide.askSecret(
    known === undefined ? "The bot's token:" : "The bot's token (press Enter to keep the current one):",
    (answer) =>
      TOKEN_PATTERN.test(answer.trim()) || (known !== undefined && answer.trim() === "")
        ? undefined
        : INVALID_TOKEN,
    `${HOW_TO_GET_TOKEN}\nThen: postrider connect telegram --token-file FILE (or - for stdin, or TELEGRAM_BOT_TOKEN in the environment).`,
  );
  return typed.trim() === "" && known !== undefined ? known : parseToken(typed);
}

const HOW_TO_GET_TOKEN = `To create a bot, open https://t.me/BotFather in Telegram, send /newbot, and choose a name and a username. BotFather
answers with the token, which looks like 123456789:AAE… The token controls the bot, so keep it secret.`;
const INVALID_TOKEN =
  "This is not a token. A token looks like 123456789:AAE…: copy all of it from BotFather's message.";

async function readTokenFile(io: Io, file: string): Promise<string> {
  if (file === "-") return readAll(io.input);
  try {
    return readFileSync(file, "utf8");
  } catch (error) {
    throw new PostriderError("not_found", `Cannot read ${file}: ${(error as Error).message}.`, {
      cause: error,
    });
  }
}

function parseToken(given: string): string {
  const token = given.trim();
  if (TOKEN_PATTERN.test(token)) return token;
  throw new PostriderError("invalid_input", INVALID_TOKEN, { details: { field: "token" } });
}
