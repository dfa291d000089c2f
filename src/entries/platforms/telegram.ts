export type { ReplyMode, TelegramOptions } from "../../platforms/telegram/options.ts";
export { telegram } from "../../platforms/telegram/platform.ts";
