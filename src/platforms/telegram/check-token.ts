import { PostriderError } from "../../core/errors.ts";
import { formatTelegramFailure, telegramApi } from "./api.ts";
import { parseConnection, type TelegramOptions } from "./options.ts";

const ASK_MS = 20_000;

/** Asks Telegram who the token's bot is. */
export async function checkToken(
  options: Pick<TelegramOptions, "token" | "apiRoot">,
  signal: AbortSignal = new AbortController().signal,
): Promise<{ readonly id: string; readonly username: string }> {
  const api = telegramApi(parseConnection(options));
  const answer = await api.call((calls, within) => calls.getMe(within), { signal, ms: ASK_MS });
  if (answer.ok) return { id: String(answer.value.id), username: answer.value.username };
  const { failure } = answer;
  if (failure.kind === "answered" && (failure.code === 401 || failure.code === 404)) {
    throw new PostriderError(
      "platform_refused",
      "Telegram does not accept the token. Copy it again from @BotFather (/mybots, API Token).",
    );
  }
  throw new PostriderError("platform_down", `Checking the token failed. ${formatTelegramFailure(failure)}`);
}
