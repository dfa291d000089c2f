import { readFileSync } from "node:fs";
import { text as readAll } from "node:stream/consumers";
import { PostriderError } from "../../../core/errors.ts";
import { wrongArguments } from "../command.ts";
import type { Io } from "../io.ts";
import type { Guide } from "./guide.ts";

export interface TokenChoice {
  readonly token?: string | undefined;
  readonly file?: string | undefined;
  /** The one that is set up already. */
  readonly known?: string | undefined;
}

/** As BotFather writes it. */
const TOKEN = /^\d{1,20}:[\w-]{1,200}$/;

/** Said on the command line, in a file, in the environment, known already, or asked for. */
export async function tokenFrom(io: Io, guide: Guide, { token, file, known }: TokenChoice): Promise<string> {
  if (token !== undefined && file !== undefined)
    throw wrongArguments("--token and --token-file exclude each other", "connect telegram");
  const given = token ?? (file === undefined ? io.environment.TELEGRAM_BOT_TOKEN : await textOf(io, file));
  if (given !== undefined && given.trim() !== "") return checked(given);
  if (!guide.isPerson && known !== undefined) return known;
  if (guide.isPerson) guide.tell(HOW);
  const typed = await guide.secret(
    known === undefined ? "The bot's token:" : "The bot's token (Enter alone keeps the one you have):",
    (answer) =>
      TOKEN.test(answer.trim()) || (known !== undefined && answer.trim() === "") ? undefined : WRONG,
    `${HOW}\nThen: postrider connect telegram --token-file FILE (or - for stdin, or TELEGRAM_BOT_TOKEN in the environment).`,
  );
  return typed.trim() === "" && known !== undefined ? known : checked(typed);
}

const HOW = `A bot is made in a minute: open https://t.me/BotFather in Telegram, send /newbot, choose a name and a username.
BotFather answers with the token, which looks like 123456789:AAE… Whoever has it controls the bot, so show it to nobody.`;
const WRONG = "A token looks like 123456789:AAE…: copy the whole of it from BotFather's message.";

async function textOf(io: Io, file: string): Promise<string> {
  if (file === "-") return readAll(io.input);
  try {
    return readFileSync(file, "utf8");
  } catch (error) {
    throw new PostriderError("not_found", `${file} cannot be read: ${(error as Error).message}.`, {
      cause: error,
    });
  }
}

function checked(given: string): string {
  const token = given.trim();
  if (TOKEN.test(token)) return token;
  throw new PostriderError("invalid_input", WRONG, { details: { field: "token" } });
}
