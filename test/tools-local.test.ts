import { mkdirSync, readFileSync, realpathSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { script } from "../src/agents/script.ts";
import { getText, type Store, sqliteStore } from "../src/index.ts";
import { editorRoom } from "./acp/editor-room.ts";
import { startCli } from "./support/cli.ts";
import { endKeeper } from "./support/end-keeper.ts";
import { temporaryFolder } from "./support/folder.ts";

const everyone = { everyone: true } as const;
const use = (name: string, given: object): object => ({ use: name, arguments: given });

/** Prints its folder, writes a file, reads Postrider's home, and starts a background process. */
const atWork = (database: string) => ({
  answers: [
    {
      say: [
        use("terminal", { command: "pwd" }),
        use("write_file", { path: "notes.txt", content: "at nine\n" }),
        use("read_file", { path: database }),
        use("terminal", { command: "exit 3", background: true, notify: "result" }),
        "Done.",
      ],
    },
  ],
});

/** The tool results in the newest session of this home. */
async function results(file: string): Promise<readonly string[]> {
  const store: Store = await sqliteStore({ file, mode: "in-process" });
  onTestFinished(() => store.close());
  const [session] = (await store.sessions.querySessions({ asker: everyone, limit: 1 })).items;
  const said = await store.messages.readHistory({ asker: everyone, session: session?.id ?? "" });
  return (said ?? []).filter(({ role }) => role === "tool").map(getText);
}

function expectWork([where = "", , forbidden = "", left = ""]: readonly string[], folder: string): void {
  expect(where).toBe(`${folder}\nIt ended with code 0.`);
  expect(readFileSync(join(folder, "notes.txt"), "utf8")).toBe("at nine\n");
  expect(forbidden).toMatch(/is not in an allowed folder|own folder/);
  expect(JSON.parse(left)).toMatchObject({ session_id: expect.stringMatching(/^proc_[0-9a-f]{12}$/) });
}

describe("the agent's tools", () => {
  it("work in the start folder of a terminal, and never in Postrider's home", async () => {
    const temporary = temporaryFolder();
    onTestFinished(() => temporary.remove());
    const root = realpathSync(temporary.path);
    const [folder, file] = [join(root, "project"), join(root, "script.json")];
    const home = join(folder, "home");
    mkdirSync(folder);
    writeFileSync(file, JSON.stringify(atWork("home/postrider.db")));
    onTestFinished(() => endKeeper(home));
    const asked = ["-q", "go", "--agent", `script:${file}`];
    const { process: child, ended } = startCli(home, asked, (command) => [
      "bash",
      "-c",
      'cd "$0" && exec "$@"',
      folder,
      ...command,
    ]);
    child.stdin.end();
    expect(await ended).toMatchObject({ code: 0, out: expect.stringContaining("Done.") });
    expectWork(await results(join(home, "postrider.db")), folder);
  });

  it("work in an editor in the folder of the thread, which shows the end of a background process", async () => {
    const { cwd, home, database, editor } = editorRoom({
      agent: script(atWork("../home/postrider.db")),
    });
    onTestFinished(() => endKeeper(home));
    const here = await editor();
    const { sessionId } = await here.open();
    await here.prompt(sessionId, "go");
    expectWork(await results(database), realpathSync(cwd));
    const told = await here.until(() =>
      here.shown(sessionId).find((update) => JSON.stringify(update).includes("ended with code 3")),
    );
    expect(JSON.stringify(told)).toContain("`exit 3` (proc_");
  });
});
