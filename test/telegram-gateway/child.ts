/** A gateway on Telegram as a process of its own, on a real database. */
import { enableCompileCache, flushCompileCache } from "node:module";
import type { TelegramChildOptions } from "./gateway-process.ts";

// Many of these are started, and most are killed before they could leave their compiled code to the next.
enableCompileCache();
const { runTelegramGateway } = await import("./gateway-process.ts");
flushCompileCache();
await runTelegramGateway(JSON.parse(process.argv[2] ?? "{}") as TelegramChildOptions);
