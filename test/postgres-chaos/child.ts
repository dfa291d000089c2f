/** One of several gateways on one PostgreSQL, in a separate process, under the name of a machine. */
import { enableCompileCache, flushCompileCache, syncBuiltinESMExports } from "node:module";
import os from "node:os";
import type { MemberOptions } from "./member.ts";
import { shortenTimes } from "./short-times.ts";

enableCompileCache();
const options = JSON.parse(process.argv[2] ?? "{}") as MemberOptions;
os.hostname = () => options.host;
syncBuiltinESMExports();
shortenTimes();
const { runMember } = await import("./member.ts");
flushCompileCache();
await runMember(options);
