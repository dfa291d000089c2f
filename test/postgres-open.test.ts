import { execFile } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { inspect, promisify } from "node:util";
import { describe, expect, it, onTestFinished } from "vitest";
import { NEWEST_VERSION } from "../src/stores/postgres/schema.ts";
import { openPostgresStore } from "../src/stores/postgres/store.ts";
import { MIGRATIONS } from "../src/stores/sqlite/schema.ts";
import { temporaryFolder } from "./support/folder.ts";
import { createTestSchema, openTestStore } from "./support/postgres-room.ts";
import { connectTestServer, findTestServer } from "./support/postgres-server.ts";
import { UNTRUSTED_CERTIFICATE } from "./support/untrusted-certificate.ts";

const PASSWORD = "sesame-4711";

/** The url of the shared server with other parts. */
async function buildUrl(change: (url: URL) => void): Promise<string> {
  const url = new URL(await findTestServer());
  change(url);
  return url.href;
}

async function openFails(url: unknown, more: object = {}): Promise<Error & { code: string }> {
  const opening = openPostgresStore({ url: url as string, retryMs: 2000, ...more });
  return opening.then(
    async (store) => {
      await store.close();
      throw new Error("the store was opened");
    },
    (error: Error & { code: string }) => error,
  );
}

describe("opening a store on PostgreSQL", () => {
  it("refuses a wrong password, and shows no password in the error", async () => {
    const admin = await connectTestServer();
    await admin.query(`create role tester login password '${PASSWORD}'`);
    onTestFinished(() => admin.query("drop role tester").then(() => {}));
    const url = await buildUrl((it) => {
      it.username = "tester";
      it.password = `${PASSWORD}-wrong`;
    });
    const error = await openFails(url);
    expect(error).toMatchObject({ code: "invalid_config", message: expect.stringContaining("password") });
    expect(inspect(error, { depth: 20, showHidden: true })).not.toContain(PASSWORD);
  });

  it.each([
    ["host", "store_unavailable", (url: URL) => (url.hostname = "no-such-host.invalid"), "not found"],
    ["port", "store_unavailable", (url: URL) => (url.port = "1"), "does not answer"],
    ["database", "invalid_config", (url: URL) => (url.pathname = "/nowhere"), "does not exist"],
    ["certificate", "invalid_config", (url: URL) => (url.search = "?sslmode=require"), "certificate"],
  ])("names the mistake if the %s is wrong", async (_, code, change, text) => {
    const url = await buildUrl((it) => {
      it.password = PASSWORD;
      change(it);
    });
    const error = await openFails(url);
    expect(error).toMatchObject({ code, message: expect.stringContaining(text) });
    expect(inspect(error, { depth: 20, showHidden: true })).not.toContain(PASSWORD);
  });

  it.each([
    undefined,
    "",
    `nonsense ${PASSWORD}`,
    `http://user:${PASSWORD}@localhost/db`,
    `postgres://:${PASSWORD}@localhost/db`,
    `postgres://user:${PASSWORD}%@localhost/db`,
    `postgres://user:${PASSWORD}@localhost:99999/db`,
    `postgres://user:${PASSWORD}@localhost/db?sslmode=maybe`,
    `postgres://user:${PASSWORD}@localhost/db?search_path=x`,
  ])("refuses a url that is not one", async (url) => {
    const error = await openFails(url);
    expect(error).toMatchObject({ code: "invalid_input", details: { field: "url" } });
    expect(inspect(error, { depth: 20, showHidden: true })).not.toContain(PASSWORD);
  });

  it.each([
    { schema: "" },
    { schema: "pg_mine" },
    { schema: "x".repeat(60) },
    { poolSize: 0 },
    { retryMs: -1 },
    { pooler: "session" },
    { clock: "mine" },
  ])("refuses the options %o", async (options) => {
    const error = await openFails("postgres://user@localhost/db", options);
    expect(error).toMatchObject({ code: "invalid_input", details: { field: Object.keys(options)[0] } });
  });

  it.skipIf(process.env.POSTRIDER_TEST_POSTGRES)(
    "encrypts its connections, to a server with a known certificate or to any",
    async () => {
      const folder = temporaryFolder();
      onTestFinished(() => folder.remove());
      const ca = join(folder.path, "ca.pem");
      writeFileSync(ca, UNTRUSTED_CERTIFICATE);
      const admin = await connectTestServer();
      for (const search of [`?sslmode=verify-ca&sslrootcert=${ca}`, "?sslmode=no-verify", ""]) {
        const url = await buildUrl((it) => {
          it.search = search;
        });
        const applicationName = `tls ${search.length}`;
        const store = await openTestStore({ url, applicationName });
        await store.runners.listLeases({ now: 0 });
        const { rows } = await admin.query(
          "select s.ssl from pg_stat_ssl s join pg_stat_activity a using (pid) where a.application_name = $1",
          [applicationName],
        );
        expect(rows.map(({ ssl }) => ssl)).toEqual(rows.map(() => search !== ""));
        expect(rows.length).toBeGreaterThan(1);
      }
      expect(
        await openFails(await buildUrl((it) => (it.search = "?sslmode=require&sslrootcert=/nowhere"))),
      ).toMatchObject({ code: "invalid_config", details: { file: "/nowhere" } });
    },
  );

  it("refuses a schema of a newer version, and changes nothing", async () => {
    const schema = createTestSchema();
    await (await openTestStore({ schema })).close();
    const admin = await connectTestServer();
    await admin.query(`update "${schema}".schema_version set version = ${NEWEST_VERSION + 1}`);
    const error = await openFails(await findTestServer(), { schema });
    expect(error).toMatchObject({ code: "newer_schema", details: { found: NEWEST_VERSION + 1 } });
  });

  it("refuses a schema with tables of another program", async () => {
    const schema = createTestSchema();
    const admin = await connectTestServer();
    await admin.query(`create schema "${schema}"; create table "${schema}".sessions (mine text)`);
    expect(await openFails(await findTestServer(), { schema })).toMatchObject({ code: "corrupt" });
  });

  it("creates the schema once if several processes start at once, under any name", async () => {
    const schema = `${createTestSchema()} "x`;
    const admin = await connectTestServer();
    onTestFinished(() => admin.query(`drop schema "${schema.replaceAll('"', '""')}" cascade`).then(() => {}));
    const stores = await Promise.all(
      [1, 2, 3].map(() => openTestStore({ schema, applicationName: "three at once" })),
    );
    for (const store of stores) await store.runners.listLeases({ now: 0 });
    const { rows } = await admin.query(
      "select count(*)::integer as n from pg_stat_activity where application_name = 'three at once'",
    );
    expect(rows[0].n).toBeGreaterThanOrEqual(3);
  });

  it("has the version of the schema of SQLite", () => {
    expect(NEWEST_VERSION).toBe(MIGRATIONS.length);
  });

  it("says what to install if the driver is missing", async () => {
    const store = new URL("../src/stores/postgres/store.ts", import.meta.url).href;
    const script = `
      import { registerHooks } from "node:module";
      registerHooks({ resolve(name, context, next) {
        if (name !== "pg") return next(name, context);
        throw Object.assign(new Error("Cannot find package 'pg' imported from here"), { code: "ERR_MODULE_NOT_FOUND" });
      } });
      const { openPostgresStore } = await import(${JSON.stringify(store)});
      await openPostgresStore({ url: "postgres://user@localhost/db" }).catch(({ code, message }) => console.log(code, message));`;
    const { stdout } = await promisify(execFile)(
      process.execPath,
      ["--input-type=module", "--eval", script],
      { cwd: fileURLToPath(new URL("..", import.meta.url)) },
    );
    expect(stdout).toMatch(/^missing_package .*npm install pg$/m);
  });
});
