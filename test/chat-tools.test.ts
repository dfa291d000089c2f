import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { endKeeper } from "./support/end-keeper.ts";
import { temporaryFolder } from "./support/folder.ts";
import { startPostrider } from "./support/terminal.ts";

const use = (command: string) => ({ use: "terminal", arguments: { command } });
const SCRIPT = {
  answers: [
    { to: "^The background|^\\[The background", say: ["So it is done."] },
    {
      to: "wait",
      say: [
        {
          use: "terminal",
          arguments: { command: "exit 4", background: true, notify_on_complete: true },
        },
        "I shall tell you.",
      ],
    },
    { to: "", say: ["First I look.", use("seq 1 9"), "Then I act.", use("echo done"), "That was it."] },
  ],
};

it("a terminal shows each tool call live, once and in order, and shows the same when it is reopened", async () => {
  const temporary = temporaryFolder();
  onTestFinished(() => temporary.remove());
  const folder = temporary.path;
  const home = join(folder, "home");
  onTestFinished(() => endKeeper(home));
  writeFileSync(join(folder, "script.json"), JSON.stringify(SCRIPT));
  const environment = { POSTRIDER_HOME: home, POSTRIDER_AGENT: `script:${join(folder, "script.json")}` };
  const terminal = startPostrider([], { folder, environment, rows: 60 });
  await terminal.waitFor(/ · \d+ messages? · .*script/);
  terminal.type("go");
  terminal.press("enter");
  await terminal.waitFor("· 6 messages ·");
  const shown = [
    "› go",
    "First I look.",
    "→ terminal  seq 1 9",
    "← 1",
    "2",
    "3",
    "4",
    "… 6 more lines",
    "Then I act.",
    "→ terminal  echo done",
    "← done",
    "It ended with code 0.",
    "That was it.",
  ];
  expect(said(terminal.everything())).toEqual(shown);

  terminal.type("wait");
  terminal.press("enter");
  await terminal.waitFor("So it is done.");
  const rows = said(terminal.everything());
  expect(rows.filter((row) => row.startsWith("› "))).toEqual(["› go", "› wait"]);
  expect(rows.find((row) => row.startsWith("[The background process"))).toContain("exit 4");
  terminal.press("ctrl-d");
  expect(await terminal.ended).toMatchObject({ code: 0 });

  const again = startPostrider(["--continue"], { folder, environment, rows: 60 });
  await again.waitFor("So it is done.");
  expect(said(again.everything()).slice(0, shown.length)).toEqual(shown);
  again.press("ctrl-d");
  expect(await again.ended).toMatchObject({ code: 0 });
});

/** The text from these words on, without the lines around it. */
function said(screen: readonly string[]): string[] {
  const rows = screen
    .map((row) => row.trim())
    .filter((row) => row !== "" && !/^─+$| · \d+ messages? · /.test(row));
  return rows.slice(rows.indexOf("› go"));
}
