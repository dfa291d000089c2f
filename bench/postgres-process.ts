// One of several gateways on one database, for bench/postgres.ts: waits for a number of turns, and reports them.
import { atOnce } from "./measure.ts";
import { postgresSubject } from "./postgres-subjects.ts";

const [url = "", schema = "", first = "0", lanes = "1"] = process.argv.slice(2);
const { store, turn } = await postgresSubject(url, schema);
let index = 0;
process.on("message", async (turns: number) => {
  const before = store.countRetries();
  const { p99 } = await atOnce(Number(lanes), turns, (_, lane) => turn(Number(first) + lane, index++));
  process.send?.({ p99, retries: store.countRetries() - before });
});
process.on("disconnect", async () => {
  await store.close();
  process.exit(0);
});
process.send?.("ready");
