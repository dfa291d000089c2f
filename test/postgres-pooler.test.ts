import { spawn } from "node:child_process";
import { chownSync, existsSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { afterAll, describe, it } from "vitest";
import { storeContract } from "../src/testing/index.ts";
import { temporaryFolder } from "./support/folder.ts";
import { postgresHarness } from "./support/postgres-harness.ts";
import { findServerUser, findTestServer } from "./support/postgres-server.ts";

const PGBOUNCER = "/usr/sbin/pgbouncer";

/** PgBouncer in front of the server of this run. Every transaction gets any of its connections. */
async function startPooler(): Promise<{ readonly url: string; stop(): void }> {
  const folder = temporaryFolder();
  const url = new URL(await findTestServer());
  const port = await findFreePort();
  const file = join(folder.path, "pgbouncer.ini");
  const database = url.pathname.slice(1);
  const password = url.password === "" ? "" : ` password='${decodeURIComponent(url.password)}'`;
  writeFileSync(
    file,
    [
      "[databases]",
      `${database} = host=${url.hostname} port=${url.port} user=${url.username}${password}`,
      "[pgbouncer]",
      "listen_addr = 127.0.0.1",
      `listen_port = ${port}`,
      "unix_socket_dir =",
      "auth_type = any",
      "pool_mode = transaction",
      "default_pool_size = 6",
      "ignore_startup_parameters = extra_float_digits,statement_timeout,lock_timeout,idle_in_transaction_session_timeout",
    ].join("\n"),
  );
  const user = findServerUser();
  if (user !== undefined) for (const path of [folder.path, file]) chownSync(path, user.uid, user.gid);
  const pooler = spawn(PGBOUNCER, [file], { ...user, stdio: ["ignore", "ignore", "pipe"] });
  await new Promise<void>((resolve, reject) => {
    let log = "";
    pooler.stderr.on("data", (piece) => {
      log += piece;
      if (log.includes("process up")) resolve();
    });
    pooler.on("exit", () => reject(new Error(`PgBouncer did not start: ${log}`)));
  });
  url.host = `127.0.0.1:${port}`;
  return {
    url: url.href,
    stop() {
      pooler.kill();
      folder.remove();
    },
  };
}

function findFreePort(): Promise<number> {
  return new Promise((resolve) => {
    const server = createServer().listen(0, "127.0.0.1", () => {
      const address = server.address();
      server.close(() => resolve(typeof address === "object" ? (address?.port ?? 0) : 0));
    });
  });
}

const isInstalled = existsSync(PGBOUNCER);

describe.runIf(isInstalled)("a store behind PgBouncer in transaction mode", () => {
  let pooler: ReturnType<typeof startPooler> | undefined;
  const harness = postgresHarness("pooled", async () => {
    pooler ??= startPooler();
    return { url: (await pooler).url, pooler: "transaction" };
  });
  afterAll(async () => {
    await harness.close();
    (await pooler)?.stop();
  });
  storeContract({ describe, it }, harness);
});

it.runIf(!isInstalled)("a store behind PgBouncer", ({ skip }) => {
  skip(`PgBouncer is not installed at ${PGBOUNCER}`);
});
