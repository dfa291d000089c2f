import { chmodSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { temporaryFolder } from "../../../test/support/folder.ts";
import { type HookContext, type HookEvent, hooks } from "../../gateway/hooks.ts";
import type { Log, LogFields } from "../../ports/log.ts";
import { loadHooks } from "./load-hooks.ts";

interface Scene {
  readonly folder: string;
  /** Writes a file below `hooks`. */
  put(name: string, text: string, mode?: number): string;
  /** Loads everything, and sends it these events. Returns the log. */
  tell(
    ...events: readonly (readonly [HookEvent, HookContext])[]
  ): Promise<{ readonly problems: readonly string[]; readonly logged: readonly LogFields[] }>;
  /** The content of a file that hooks have written. */
  read(name: string): string;
}

function scene(environment: NodeJS.ProcessEnv = process.env): Scene {
  const temporary = temporaryFolder();
  onTestFinished(() => temporary.remove());
  const folder = temporary.path;
  return {
    folder,
    put(name, text, mode = 0o600) {
      const path = join(folder, "hooks", name);
      mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
      writeFileSync(path, text);
      chmodSync(path, mode);
      return path;
    },
    async tell(...events) {
      const loaded = await loadHooks({ folder }, environment);
      const logged: LogFields[] = [];
      const silent = (): void => {};
      const log: Log = { debug: silent, info: silent, warn: (fields) => logged.push(fields), error: silent };
      const { emit } = hooks(loaded.hooks, log);
      for (const [event, context] of events) await emit(event, context);
      await loaded.close();
      return { problems: loaded.problems, logged };
    },
    read: (name) => readFileSync(join(folder, name), "utf8"),
  };
}

/** A zombie does not count as running. */
function runs(pid: string): boolean {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
    return stat.slice(stat.lastIndexOf(")") + 2)[0] !== "Z";
  } catch {
    return false;
  }
}

const appendEvent = (file: string): string =>
  `import { appendFileSync } from "node:fs";
   export function handle(event, context) { appendFileSync(${JSON.stringify(file)}, event + " " + JSON.stringify(context) + "\\n"); }`;

describe("hooks", () => {
  it("are empty without a hooks folder", async () => {
    expect(await scene().tell(["agent:end", {}])).toEqual({ problems: [], logged: [] });
  });

  it("are modules that export their events", async () => {
    const { put, tell, read, folder } = scene();
    put("a.mjs", `${appendEvent(join(folder, "a"))}\nexport const events = ["agent:end", "command:*"];`);
    put("b.ts", `${appendEvent(join(folder, "b"))}\nexport const events: string[] = ["session:start"];`);
    put("README.md", "not a hook");
    const { problems, logged } = await tell(
      ["agent:start", { turn: 1 }],
      ["agent:end", { turn: 1 }],
      ["command:new", { command: "new" }],
      ["session:start", { session: "s" }],
    );
    expect({ problems, logged }).toEqual({ problems: [], logged: [] });
    expect(read("a")).toBe('agent:end {"turn":1}\ncommand:new {"command":"new"}\n');
    expect(read("b")).toBe('session:start {"session":"s"}\n');
  });

  it("are modules in a folder with the events in hook.yaml", async () => {
    const { put, tell, read, folder } = scene();
    put("notes/hook.yaml", "events: session:*\nmodule: handler.mjs\n");
    put("notes/handler.mjs", appendEvent(join(folder, "notes")));
    expect(await tell(["session:end", { reason: "new" }])).toEqual({ problems: [], logged: [] });
    expect(read("notes")).toBe('session:end {"reason":"new"}\n');
  });

  it("are commands that get the event as JSON, without a shell and without secrets", async () => {
    const { put, tell, read, folder } = scene({ ...process.env, OPENAI_API_KEY: "sk-secret", LANG: "C" });
    put("notify/hook.yaml", 'events: [agent:end]\ncommand: ["./notify.sh", "$HOME; two words"]\n');
    put(
      "notify/notify.sh",
      `#!/bin/sh\n{ cat; pwd; echo "$POSTRIDER_EVENT|$POSTRIDER_HOOK|$1"; env; } > "${folder}/out"\n`,
      0o700,
    );
    expect(await tell(["agent:end", { turn: 3, chat: "ü\n" }])).toEqual({ problems: [], logged: [] });
    const [json = "", cwd, line, ...rest] = read("out").split("\n");
    expect(JSON.parse(json)).toEqual({ event: "agent:end", turn: 3, chat: "ü\n" });
    expect(cwd?.endsWith("/hooks/notify")).toBe(true);
    expect(line).toBe("agent:end|notify|$HOME; two words");
    expect(rest.join("\n")).toContain("LANG=C");
    expect(rest.join("\n")).not.toContain("sk-secret");
  });

  it("fail alone: the others still run, and the log has the reason", async () => {
    const { put, tell, read, folder } = scene();
    put("a-throws.mjs", 'export const events = ["*"]; export function handle() { throw new Error("oh"); }');
    put("b-exits/hook.yaml", "events: agent:end\ncommand: ./run.sh\n");
    put("b-exits/run.sh", "#!/bin/sh\necho 'no such list' >&2\nexit 3\n", 0o700);
    put("c-lacks/hook.yaml", "events: agent:end\ncommand: postrider-has-no-such-program\n");
    put("d.mjs", `${appendEvent(join(folder, "d"))}\nexport const events = "agent:end";`);
    const { problems, logged } = await tell(["agent:end", {}]);
    expect(problems).toEqual([]);
    const failed = logged.map(({ hook, error }) => [hook, (error as Error).message]);
    expect(failed.toSorted()).toEqual([
      ["a-throws", "oh"],
      ["b-exits", "the command ended with code 3: no such list"],
      ["c-lacks", expect.stringContaining("ENOENT")],
    ]);
    expect(read("d")).toBe("agent:end {}\n");
  });

  it("are killed with their child processes when they exceed the time limit", async () => {
    const { put, tell, folder } = scene();
    const pids = join(folder, "pids");
    put("slow/hook.yaml", "events: agent:end\ncommand: ./slow.sh\ntimeout_seconds: 0.3\n");
    // The second one ignores SIGTERM.
    put("slow/slow.sh", `#!/bin/sh\n(trap '' TERM; sleep 600) &\necho $$ $! > "${pids}"\nwait\n`, 0o700);
    const { logged } = await tell(["agent:end", {}]);
    expect(logged).toMatchObject([
      { hook: "slow", error: { message: "the command exceeded its time limit of 300 ms and was killed." } },
    ]);
    for (const pid of readFileSync(pids, "utf8").trim().split(" ")) {
      // A signalled process needs a moment to end, and sends no event, so this polls.
      while (runs(pid)) await new Promise((resolve) => setTimeout(resolve, 5));
    }
  });

  const broken: readonly [what: string, put: (scene: Scene) => void, said: RegExp][] = [
    [
      "a module that others may change",
      ({ put }) => put("x.mjs", "", 0o622),
      /^The hook x\.mjs is skipped: Other users of this machine can change .*x\.mjs.*: chmod go-w /,
    ],
    [
      "a program that others may change",
      ({ put }) => {
        put("x/hook.yaml", "events: agent:end\ncommand: ./run.sh\n");
        put("x/run.sh", "#!/bin/sh\n", 0o770);
      },
      /Other users of this machine can change .*run\.sh/,
    ],
    [
      "a folder in which others may put something",
      ({ put }) => {
        const file = put("x/hook.yaml", "events: agent:end\nmodule: a.mjs\n");
        put("x/a.mjs", "export function handle() {}");
        chmodSync(dirname(file), 0o777);
      },
      /Other users of this machine can change .*hooks\/x,/,
    ],
    [
      "a link to what others may change",
      ({ put, folder }) => {
        const target = put(
          "../elsewhere.mjs",
          "export const events = ['*']; export function handle() {}",
          0o666,
        );
        mkdirSync(join(folder, "hooks"), { mode: 0o700 });
        symlinkSync(target, join(folder, "hooks", "x.mjs"));
      },
      /Other users of this machine can change/,
    ],
    [
      "a file that is not executable",
      ({ put }) => {
        put("x/hook.yaml", "events: agent:end\ncommand: ./run.sh\n");
        put("x/run.sh", "#!/bin/sh\n", 0o600);
      },
      /is not executable\. Run: chmod \+x /,
    ],
    ["a folder without hook.yaml", ({ put }) => put("x/other", ""), /hook\.yaml does not exist\./],
    ["a file of another kind", ({ put }) => put("x.sh", "#!/bin/sh\n", 0o700), /The hook x\.sh is skipped/],
    [
      "a module without handle",
      ({ put }) => put("x.mjs", "export const events = ['*'];"),
      /exports no function handle/,
    ],
    ["a module without events", ({ put }) => put("x.mjs", "export function handle() {}"), /names no events/],
    [
      "a module that cannot be read",
      ({ put }) => put("x.mjs", "export const ("),
      /The hook x\.mjs is skipped: .+/,
    ],
    ["a hook.yaml without events", ({ put }) => put("x/hook.yaml", "command: true\n"), /names no events/],
    [
      "a hook.yaml with neither",
      ({ put }) => put("x/hook.yaml", "events: '*'\n"),
      /either a command or a module/,
    ],
    [
      "a field that is not there",
      ({ put }) => put("x/hook.yaml", "events: '*'\nrun: a\n"),
      /an unknown field run; valid fields/,
    ],
    [
      "a wrong time",
      ({ put }) => put("x/hook.yaml", "events: '*'\ncommand: a\ntimeout_seconds: 0\n"),
      /timeout_seconds must/,
    ],
    ["broken YAML", ({ put }) => put("x/hook.yaml", "events: [\n"), /The hook x is skipped: .+/],
  ];
  it.each(broken)("skip %s and report it", async (_, put, said) => {
    const made = scene();
    put(made);
    const { problems, logged } = await made.tell(["agent:end", {}]);
    expect(problems).toEqual([expect.stringMatching(said)]);
    expect(logged).toEqual([]);
  });

  it("report an event that does not exist", async () => {
    const { put, tell } = scene();
    put("x.mjs", 'export const events = ["agent:finished", "agent:end"]; export function handle() {}');
    expect((await tell()).problems).toEqual([
      expect.stringContaining("listens to agent:finished, which does not exist"),
    ]);
  });
});
