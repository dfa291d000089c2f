/** A gateway on Telegram in a separate process, with a real database. */
import { enableCompileCache, flushCompileCache } from "node:module";
import type { TelegramChildOptions } from "./gateway-process.ts";

// Many of these are started, and most are killed before they can write their compile cache.
enableCompileCache();
const { runTelegramGateway } = await import("./gateway-process.ts");
flushCompileCache();
await runTelegramGateway(JSON.parse(process.argv[2] ?? "{}") as TelegramChildOptions);
