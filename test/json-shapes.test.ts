import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { COMMANDS } from "../src/apps/cli/commands.ts";
import { openLog } from "../src/apps/log/open-log.ts";
import { requestPairingCode } from "../src/commands/pairing.ts";
import { localRunner, sqliteStore, systemClock } from "../src/index.ts";
import { makeHome } from "./import/make-home.ts";
import { asideDelivery } from "./support/aside-delivery.ts";
import { NOW, type RunOptions } from "./support/command.ts";
import { type Furnished, furnishedHome } from "./support/furnished.ts";
import { gatewayScene, TOKEN } from "./support/gateway-program.ts";
import { documentedShapes, problems } from "./support/json-shapes.ts";
import { keeperRoom } from "./support/keeper-room.ts";
import { processRow, type RowWanted } from "./support/process-rows.ts";

const shapes = documentedShapes();

interface Case {
  /** The arguments after `postrider`; `--json` is added. */
  args(home: Furnished): readonly string[] | Promise<readonly string[]>;
  readonly options?: RunOptions | ((home: Furnished) => Promise<RunOptions>);
  /** Commands that run in this home before. */
  before?(home: Furnished): readonly (readonly string[])[];
  readonly code?: number;
}

/**
 * At least one call for every heading of docs/json.md that is a command. Together the calls of a heading should fill as
 * many of its fields as possible.
 */
const CASES: Readonly<Record<string, readonly Case[]>> = {
  "postrider -q": [{ args: () => ["-q", "hello"] }],
  "postrider sessions list": [
    { args: () => ["sessions", "list"] },
    { args: () => ["sessions", "list", "--everyone", "--all", "--limit", "1"] },
    { args: () => ["sessions", "list", "--platform", "nowhere"] },
  ],
  "postrider sessions show": [
    { args: ({ plans }) => ["sessions", "show", plans, "--all"] },
    { args: ({ group }) => ["sessions", "show", group, "--everyone"] },
  ],
  "postrider sessions search": [
    { args: () => ["sessions", "search", "lighthouse", "OR", "tide"] },
    { args: () => ["sessions", "search", "hello", "--everyone", "--context"] },
    { args: () => ["sessions", "search", "zzz"] },
  ],
  "postrider sessions rename": [
    { args: ({ plans }) => ["sessions", "rename", plans, "other", "plans"] },
    { args: ({ plans }) => ["sessions", "rename", plans, "--clear"] },
  ],
  "postrider sessions fork": [{ args: ({ plans }) => ["sessions", "fork", plans, "--at", "2"] }],
  "postrider sessions export": [
    { args: ({ plans, folder }) => ["sessions", "export", plans, "--output", join(folder, "one.jsonl")] },
    { args: ({ folder }) => ["sessions", "export", "--all", "--format", "md", "-o", join(folder, "all.md")] },
  ],
  "postrider sessions import": [
    {
      before: ({ plans, folder }) => [
        ["sessions", "export", "--all", "--output", join(folder, "all.jsonl")],
        ["sessions", "delete", plans, "--yes"],
      ],
      args: ({ folder }) => ["sessions", "import", join(folder, "all.jsonl")],
    },
    { args: () => ["sessions", "import", "-"], options: { input: "not json\n" }, code: 1 },
  ],
  "postrider sessions archive": [{ args: ({ plans }) => ["sessions", "archive", plans] }],
  "postrider sessions unarchive": [{ args: ({ plans }) => ["sessions", "unarchive", plans] }],
  "postrider sessions delete": [{ args: ({ plans }) => ["sessions", "delete", plans, "--yes"] }],
  "postrider sessions prune": [
    { args: () => ["sessions", "prune"] },
    { args: () => ["sessions", "prune", "--yes", "--older-than", "90"] },
  ],
  "postrider sessions stats": [
    { args: () => ["sessions", "stats"] },
    { args: () => ["sessions", "stats", "--everyone"] },
  ],
  "postrider insights": [
    { args: () => ["insights"] },
    { args: () => ["insights", "--days", "3650", "--everyone"] },
    { args: () => ["insights", "--platform", "nowhere"] },
  ],
  "postrider explain": [
    { args: ({ plans }) => ["explain", plans] },
    { args: (home) => withAside(["explain", home.plans])(home) },
    { args: ({ old }) => ["explain", old] },
    { args: ({ group }) => ["explain", group, "--everyone"] },
    { args: ({ group }) => ["explain", `${group}/1`, "--everyone"] },
    { args: () => ["explain", "telegram:-100:18", "--everyone"] },
    { args: () => ["explain", "agent:main:telegram:group:-100:42", "--everyone"] },
  ],
  "postrider import hermes": [
    { args: ({ folder }) => ["import", "hermes", otherHome(folder)] },
    { args: ({ folder }) => ["import", "hermes", otherHome(folder), "--dry-run"] },
  ],
  "postrider key": [
    {
      args: () => [
        "key",
        '{"platform":"signal","chat_type":"group","chat_id":"g","user_id":"1","user_id_alt":"u"}',
      ],
    },
    { args: () => ["key", '{"platform":"telegram","chat_id":99}'] },
  ],
  "postrider processes": [
    { args: withRows(["processes", "--all", "--foreground"]) },
    { args: withRows(["processes", "list", "--everyone"]) },
  ],
  "postrider processes log": [
    { args: withRows(["processes", "log", "aa"]) },
    { args: withRows(["processes", "log", "bb", "--tail", "1", "-f"]) },
  ],
  "postrider processes kill": [
    { args: withRows(["processes", "kill", "bb", "cc"]) },
    { options: withProcess, args: () => ["processes", "kill", running] },
  ],
  "postrider processes write": [
    { options: withProcess, args: () => ["processes", "write", running, "--enter"] },
  ],
  "postrider connect telegram": [
    { args: () => ["connect", "telegram", "--token", TOKEN], options: withTelegram },
    { args: () => ["connect", "telegram", "--token", TOKEN, "--no-link"], options: withTelegram },
  ],
  "postrider gateway status": [
    { args: () => ["gateway", "status"], code: 3 },
    { args: withAside(["gateway", "status"]), code: 3 },
    { args: () => ["gateway", "status"], options: withGateway },
  ],
  "postrider gateway stop": [{ args: () => ["gateway", "stop"], options: withGateway }],
  "postrider gateway drain": [
    {
      async args({ folder }) {
        const store = await sqliteStore({ file: join(folder, "postrider.db"), mode: "in-process" });
        const [runner, now] = [localRunner(), Date.now()];
        await store.runners.recordHeartbeat({ runner, now });
        const lease = { name: "gateway:berlin", runner: runner.id, ttlMs: 60_000 };
        await store.runners.acquireLease({ ...lease, about: JSON.stringify({ since: now, turns: 2 }), now });
        await store.close();
        return ["gateway", "drain", "berlin"];
      },
      options: async () => ({ now: Date.now() }),
    },
  ],
  "postrider gateway install": [{ args: () => ["gateway", "install", "--print"] }],
  "postrider gateway uninstall": [
    { args: () => ["gateway", "uninstall"], options: { environment: { XDG_CONFIG_HOME: "/nowhere" } } },
  ],
  "postrider tail": [
    {
      args({ folder }) {
        const log = openLog({ home: { folder }, level: "info" });
        const about = { turn: 1, session: "s", platform: "telegram", account: "1", chat: "2", delivery: 3 };
        log.error({ ...about, error: new Error("oh") }, "could not be delivered");
        log.close();
        return ["tail", "-n", "1"];
      },
    },
  ],
  "postrider acp install": [
    { args: () => ["acp", "install", "zed"] },
    { args: () => ["acp", "install", "neovim", "--all", "--agent", "echo", "--name", "Post"] },
    {
      args: () => ["acp", "install", "zed", "--write"],
      options: async ({ folder }) => ({ environment: { XDG_CONFIG_HOME: join(folder, "config") } }),
    },
  ],
  "postrider pair list": [
    { args: () => ["pair", "list"] },
    {
      before: () => [["pair", "link", "telegram"]],
      args: async (home) => {
        await strangersCode(home);
        return ["pair", "list"];
      },
    },
  ],
  "postrider pair approve": [
    { args: async (home) => ["pair", "approve", await strangersCode(home), "--platform", "telegram"] },
  ],
  "postrider pair revoke": [
    {
      args: async (home) => {
        await home.run(["pair", "approve", await strangersCode(home)]);
        return ["pair", "revoke", "telegram", "77"];
      },
    },
  ],
  "postrider pair link": [
    { args: () => ["pair", "link", "telegram"] },
    { args: () => ["pair", "link", "signal", "--person", "telegram:42"] },
  ],
  "postrider config show": [
    { args: () => ["config", "show"] },
    {
      before: () => [["config", "set", "timezone", "UTC"]],
      args: () => ["config", "show", "timezone"],
      options: { environment: { TELEGRAM_BOT_TOKEN: "1:a" } },
    },
  ],
  "postrider config set": [
    { args: () => ["config", "set", "platforms.telegram.allow", "1,2"] },
    { args: () => ["config", "set", "model.api_key", "k"] },
  ],
  "postrider config unset": [{ args: () => ["config", "unset", "timezone"] }],
  "postrider config check": [
    { args: () => ["config", "check"] },
    {
      args: () => ["config", "check"],
      options: { environment: { TELEGRAM_ALLOW_ALL_USERS: "maybe" } },
      code: 1,
    },
  ],
  "postrider plugins list": [
    { args: () => ["plugins", "list"] },
    { args: () => ["plugins", "list"], options: withPlugins },
  ],
  "postrider plugins check": [
    { args: () => ["plugins", "check"] },
    { args: () => ["plugins", "check"], options: withPlugins, code: 1 },
  ],
  "postrider backup": [{ args: ({ folder }) => ["backup", join(folder, "copy.db")] }],
  "postrider restore": [
    {
      before: ({ folder }) => [["backup", join(folder, "copy.db")]],
      args: ({ folder }) => ["restore", join(folder, "copy.db"), "--replace"],
    },
  ],
  "postrider doctor": [{ args: () => ["doctor", "--full"] }, { args: () => ["doctor", "--fix"] }],
  "postrider export-person": [
    { args: ({ folder }) => ["export-person", "owner", join(folder, "owner.jsonl")] },
  ],
  "postrider erase": [
    { args: () => ["erase", "owner", "--yes"] },
    { args: () => ["erase", "owner", "--yes", "--backups"] },
  ],
};

function strangersCode(home: Furnished): Promise<string> {
  return home.fill(async ({ store }) => {
    const clock = { ...systemClock, now: () => NOW };
    const source = { platform: "telegram", chatType: "dm", chatId: "77", userId: "77", userName: "Eve" };
    const asked = await requestPairingCode({ store, clock, source });
    if (asked.state !== "asked") throw new Error(`there is no code: ${asked.state}`);
    return asked.code;
  });
}

/** Processes in every state, only as rows. */
function withRows(args: readonly string[]): (home: Furnished) => Promise<readonly string[]> {
  return async ({ fill, plansId: session }) => {
    const watch = { mode: "all", everyMs: 60_000, patterns: ["error"], wakes: true } as const;
    await fill(async ({ store }) => {
      const row = (id: string, more: Partial<RowWanted>) =>
        processRow(store, { id, session, printed: "one\ntwo\n", now: NOW, ...more });
      await row("proc_aa0000000000", { watch, pty: true });
      await row("proc_bb0000000000", { exit: { code: 2 }, background: false });
      await row("proc_cc0000000000", { exit: { signal: "SIGTERM" } });
      await row("proc_dd0000000000", { exit: { unknown: true } });
    });
    return args;
  };
}

/** A message of a session that keeps failing. */
function withAside(args: readonly string[]): (home: Furnished) => Promise<readonly string[]> {
  return async ({ fill, plansId }) => {
    await fill(({ store }) => asideDelivery(store, plansId, NOW));
    return args;
  };
}

let running = "";

/** A real running process, in its own home. */
async function withProcess(): Promise<RunOptions> {
  const { home, start } = await keeperRoom();
  running = (await start("cat")).id;
  return { environment: { POSTRIDER_HOME: home.folder }, now: Date.now() };
}

async function withTelegram(): Promise<RunOptions> {
  const { fake } = await gatewayScene();
  return { environment: { TELEGRAM_API_ROOT: fake.url } };
}

/** A running gateway of this home, in a separate process. */
async function withGateway({ folder }: Furnished): Promise<RunOptions> {
  const { gateway } = await gatewayScene(folder);
  await gateway();
  return { now: Date.now() };
}

/** One plugin that adds something, and a missing one. */
async function withPlugins({ folder }: Furnished): Promise<RunOptions> {
  const commands = '[{ name: "horse", summary: "a horse", run: () => "" }]';
  writeFileSync(join(folder, "a.mjs"), `export const plugin = { commands: ${commands} };`, { mode: 0o600 });
  writeFileSync(join(folder, "config.yaml"), "plugins: [./a.mjs, ./gone.mjs]\n");
  return {};
}

function otherHome(folder: string): string {
  return makeHome(join(folder, "other"), { seed: 1, sessions: 12 }).path;
}

const headings = [...shapes.keys()].filter((heading) => heading.startsWith("postrider "));

describe("docs/json.md", () => {
  it("describes every command with --json, and no other", async () => {
    const takesJson: string[] = [];
    for (const { name, load } of COMMANDS) {
      const help = name === "" ? "--json" : (await load()).help();
      if (help.includes("--json")) takesJson.push(name === "" ? "postrider -q" : `postrider ${name}`);
    }
    expect(headings.toSorted()).toEqual(takesJson.toSorted());
    expect(Object.keys(CASES).toSorted()).toEqual(takesJson.toSorted());
  });

  for (const [heading, cases] of Object.entries(CASES)) {
    for (const [index, { args, options, before, code = 0 }] of cases.entries()) {
      it(`describes the output of ${heading} (${index + 1})`, async () => {
        const home = await furnishedHome();
        for (const earlier of before?.(home) ?? []) await home.run(earlier);
        const around = typeof options === "function" ? await options(home) : options;
        const ran = await home.run([...(await args(home)), "--json"], around);
        expect(ran).toMatchObject({ code, out: expect.stringMatching(/^.+\n$/) });
        const shape = shapes.get(heading);
        if (shape === undefined) throw new Error(`docs/json.md has no heading ${heading}`);
        expect(problems(shapes, shape, JSON.parse(ran.out))).toEqual([]);
      });
    }
  }

  const failures: readonly [what: string, code: number, args: readonly string[]][] = [
    ["a wrong option", 2, ["sessions", "list", "--colour"]],
    ["a command that does not exist", 2, ["sessoins"]],
    ["an unknown session", 3, ["sessions", "show", "nobody"]],
    ["an ambiguous session", 4, ["explain", "20"]],
    ["an unknown process", 3, ["processes", "log", "proc_00"]],
    ["a missing confirmation", 5, ["sessions", "delete", "holiday plans"]],
    ["an invalid key", 1, ["explain", "agent:main"]],
  ];
  it.each(failures)("describes the error of %s, exit code %i", async (_, code, args) => {
    const home = await furnishedHome();
    const ran = await home.run([...args, "--json"]);
    expect(ran).toMatchObject({ code, out: "" });
    const error = ran.err.trimEnd().split("\n").at(-1) ?? "";
    expect(problems(shapes, shapes.get("Errors") ?? new Map(), JSON.parse(error))).toEqual([]);
  });

  it("detects missing fields, additional fields and other types", () => {
    const shape = new Map([
      ["a", "string"],
      ["b", "object[]"],
      ["b[].c", "number or null"],
    ]);
    expect(problems(shapes, shape, { a: "x", b: [{ c: null }, { c: 1 }] })).toEqual([]);
    expect(problems(shapes, shape, { a: 1, b: [{ c: "1", d: 2 }], e: 3 })).toHaveLength(4);
    expect(problems(shapes, shape, { b: {} })).toHaveLength(2);
  });
});
