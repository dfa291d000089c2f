import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { createSessions, getText, sqliteStore } from "../src/index.ts";
import { startCli } from "./support/cli.ts";
import { temporaryFolder } from "./support/folder.ts";

const everyone = { everyone: true } as const;
const use = (name: string, given: object): object => ({ use: name, arguments: given });

it("gives the agent in a terminal the configured tools, which find only the owner's messages", async () => {
  const folder = temporaryFolder();
  onTestFinished(() => folder.remove());
  const home = join(folder.path, "home");
  const database = join(home, "postrider.db");
  mkdirSync(home, { mode: 0o700 });
  writeFileSync(join(home, "config.yaml"), "tools:\n  owner: [session_search]\n", { mode: 0o600 });
  const store = await sqliteStore({ file: database, mode: "in-process" });
  onTestFinished(() => store.close());
  const sessions = createSessions({ store });
  const other = await sessions.create({ person: "p_bob" });
  await sessions.append(everyone, other.id, { role: "user", text: "the lighthouse is mine" });
  const file = join(folder.path, "script.json");
  const say = [
    use("session_search", { query: "lighthouse" }),
    use("write_file", { path: "a", content: "" }),
    "Done.",
  ];
  writeFileSync(file, JSON.stringify({ answers: [{ say }] }));

  const { process: child, ended } = startCli(home, ["-q", "go", "--agent", `script:${file}`]);
  child.stdin.end();
  expect(await ended).toMatchObject({ code: 0, out: "Done.\n" });
  const [newest] = (await store.sessions.querySessions({ asker: everyone, limit: 1 })).items;
  const said = (await store.messages.readHistory({ asker: everyone, session: newest?.id ?? "" })) ?? [];
  const [found = "", written] = said.filter(({ role }) => role === "tool").map(getText);
  expect(JSON.parse(found)).toMatchObject({ success: true, count: 0 });
  expect(written).toBe("There is no tool write_file. There are: session_search.");
});
