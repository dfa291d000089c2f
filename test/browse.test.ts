import { beforeEach, describe, expect, it } from "vitest";
import { me, type TestHome, testHome } from "./support/command.ts";
import { startPostrider, startTerminal, type Terminal, type TerminalOptions } from "./support/terminal.ts";

const HOUR = 3_600_000;
let home: TestHome;
beforeEach(async () => {
  home = testHome();
  await home.fill(async ({ sessions, at }) => {
    const now = Date.now();
    for (let n = 0; n < 250; n += 1) {
      at(now - n * HOUR);
      const title = n % 10 === 0 ? { title: `plan ${n}` } : {};
      const { id } = await sessions.create(me, title);
      await sessions.append(me, id, [
        { role: "user", text: `Frage ${n} über 夜景` },
        { role: "assistant", text: `Antwort ${n}` },
      ]);
    }
  });
});

function browse(options: TerminalOptions = {}): Terminal {
  const environment = { POSTRIDER_HOME: home.folder, ...options.environment };
  return startPostrider(["sessions", "browse"], { columns: 70, rows: 12, ...options, environment });
}

describe("postrider sessions browse", () => {
  it("shows the newest session first on an alternate screen, and restores the terminal", async () => {
    const terminal = browse();
    await terminal.waitFor("❯");
    expect(terminal.isFullScreen()).toBe(true);
    expect(terminal.screen()[2]).toMatch(/^❯ \w+ +plan 0 +just now +2$/);
    expect(terminal.screen()[3]).toMatch(/Frage 1 über 夜景 +1h ago/);
    terminal.press("escape");
    expect(await terminal.ended).toEqual({ code: 0, signal: 0 });
    expect(terminal.isFullScreen()).toBe(false);
    expect(terminal.screen().join("").trim()).toBe("");
    expectRestored(terminal);
  });

  it("moves with the arrow keys, and loads more sessions on demand", async () => {
    const terminal = browse();
    await terminal.waitFor("100+");
    terminal.press("down", "down");
    await terminal.waitFor(/❯ \w+ +Frage 2 /);
    terminal.press("up");
    await terminal.waitFor(/❯ \w+ +Frage 1 /);
    for (const loaded of [/^200\+ ·/m, /^250 ·/m]) {
      for (let page = 0; page < 12; page += 1) terminal.press("page-down");
      await terminal.waitFor(loaded);
    }
    terminal.press("end");
    await terminal.waitFor(/❯ \w+ +Frage 249 /);
    terminal.press("home");
    await terminal.waitFor(/❯ \w+ +plan 0 /);
    terminal.type("q");
    expect((await terminal.ended).code).toBe(0);
  });

  it("filters all sessions while a person types, and ignores case and accents", async () => {
    const terminal = browse();
    await terminal.waitFor("❯");
    terminal.type("PLAN 24");
    await terminal.waitFor(/^1 ·/m);
    expect(terminal.screen()[2]).toMatch(/❯ \w+ +plan 240 /);
    terminal.press("ctrl-u");
    terminal.type("uber");
    await terminal.waitFor(
      (screen) => /Frage 1 /.test(screen.join("\n")) && screen.join("").includes("Filter: uber"),
    );
    terminal.type("zzz");
    await terminal.waitFor("No matches.");
    terminal.press("enter"); // nothing to open
    terminal.press("escape");
    expect((await terminal.ended).code).toBe(0);
  });

  it("follows the size of the terminal", async () => {
    const terminal = browse();
    await terminal.waitFor("❯");
    terminal.resize(40, 6);
    await terminal.waitFor((screen) => screen.length === 6 && /^100\+ · Enter/.test(screen[5] ?? ""));
    expect(terminal.screen()[2]).toMatch(/^❯ \w+ +plan 0/);
    terminal.resize(120, 30);
    await terminal.waitFor(/Frage 26 /);
    terminal.resize(20, 3);
    await terminal.waitFor((screen) => screen.length === 3 && screen.join("").includes("❯"));
    terminal.press("escape");
    expect((await terminal.ended).code).toBe(0);
  });

  it("shows a session with Space, and returns to the list", async () => {
    const terminal = browse({ rows: 30 });
    await terminal.waitFor("❯");
    terminal.press("down", "space");
    await terminal.waitFor("Antwort 1");
    expect(terminal.screen().join("\n")).toContain("Frage 1 über 夜景");
    terminal.press("escape");
    await terminal.waitFor("❯");
    terminal.type("plan 2");
    await terminal.waitFor("Filter: plan 2");
    terminal.press("tab");
    await terminal.waitFor(/^title +plan 20$/m);
    terminal.press("space");
    await terminal.waitFor("❯");
    terminal.press("escape");
    expect((await terminal.ended).code).toBe(0);
  });

  it("continues the chosen session with Enter", async () => {
    const terminal = browse({ columns: 100, rows: 30 });
    await terminal.waitFor("❯");
    terminal.type("plan 100");
    await terminal.waitFor(/❯ \w+ +plan 100 /);
    terminal.press("enter");
    await terminal.waitFor(
      (screen) => !screen.join("\n").includes("Esc leave") && screen.join("\n").includes("plan 100"),
    );
    terminal.kill("SIGTERM");
    await terminal.ended;
  });

  it.each(["SIGTERM", "SIGHUP", "SIGINT"] as const)(
    "restores the terminal when it gets %s",
    async (signal) => {
      const terminal = browse();
      await terminal.waitFor("❯");
      terminal.kill(signal);
      const { signal: by, code } = await terminal.ended;
      expect(by !== 0 || code >= 128).toBe(true);
      expect(terminal.isFullScreen()).toBe(false);
      expectRestored(terminal);
    },
  );

  it("restores the terminal after Ctrl-C", async () => {
    const terminal = browse();
    await terminal.waitFor("❯");
    terminal.press("ctrl-c");
    await terminal.ended;
    expect(terminal.isFullScreen()).toBe(false);
    expectRestored(terminal);
  });

  it("marks the selected session also without colours", async () => {
    const terminal = browse({ environment: { NO_COLOR: "1" } });
    await terminal.waitFor(/❯ \w+ +plan 0/);
    expect(terminal.written()).not.toContain("\x1b[7m❯");
    terminal.press("escape");
    await terminal.ended;
  });

  it("prints a plain list without a terminal, and a notice if there are no sessions", async () => {
    const piped = await home.run(["sessions", "browse"], { now: Date.now() });
    expect(piped.code).toBe(0);
    expect(piped.out).toMatch(/^HANDLE /);
    const empty = testHome();
    const terminal = startPostrider(["sessions", "browse"], {
      environment: { POSTRIDER_HOME: empty.folder },
    });
    await terminal.waitFor("There are no sessions yet");
    expect((await terminal.ended).code).toBe(0);
  });
});

/** Every terminal mode is restored: cursor, bracketed paste, key reports, wrapping, alternate screen. */
function expectRestored(terminal: Terminal): void {
  const written = terminal.written();
  for (const [on, off] of [
    ["\x1b[?1049h", "\x1b[?1049l"],
    ["\x1b[?25l", "\x1b[?25h"],
    ["\x1b[?2004h", "\x1b[?2004l"],
    ["\x1b[?7l", "\x1b[?7h"],
  ] as const) {
    if (written.includes(on))
      expect(written.lastIndexOf(off), JSON.stringify(off)).toBeGreaterThan(written.lastIndexOf(on));
  }
}

describe("postrider sessions show in a terminal", () => {
  const shows = (environment: NodeJS.ProcessEnv): Terminal =>
    startPostrider(["sessions", "show", "plan 0"], {
      rows: 8,
      environment: { POSTRIDER_HOME: home.folder, ...environment },
    });

  it("uses the configured pager", async () => {
    const terminal = shows({ PAGER: "cat -n" });
    await terminal.waitFor(/\d+\s+Antwort 0/);
    expect((await terminal.ended).code).toBe(0);
  });

  it("is printed directly if the pager is missing or disabled", async () => {
    for (const environment of [
      { PAGER: "no-such-pager" },
      { PAGER: "" },
      { PAGER: undefined, PATH: "/nowhere" },
    ]) {
      const terminal = shows(environment);
      await terminal.waitFor("Antwort 0");
      expect((await terminal.ended).code).toBe(0);
    }
  });

  it("prints no error when the pager is closed early", async () => {
    const terminal = shows({ PAGER: "head -1" });
    await terminal.waitFor("title");
    expect((await terminal.ended).code).toBe(0);
    expect(terminal.everything().join("\n")).not.toContain("Antwort 0");
  });
});

describe("postrider sessions delete in a terminal", () => {
  it("asks for confirmation, and treats Ctrl-C and Ctrl-D as no", async () => {
    for (const key of ["ctrl-c", "ctrl-d"] as const) {
      const terminal = startPostrider(["sessions", "delete", "plan 0"], {
        environment: { POSTRIDER_HOME: home.folder },
      });
      await terminal.waitFor("[y/N]");
      terminal.press(key);
      expect((await terminal.ended).code).not.toBe(0);
    }
    expect((await home.run(["sessions", "show", "plan 0"])).code).toBe(0);
    const terminal = startPostrider(["sessions", "delete", "plan 0"], {
      environment: { POSTRIDER_HOME: home.folder },
    });
    await terminal.waitFor("2 messages");
    terminal.type("y\r");
    expect((await terminal.ended).code).toBe(0);
    expect((await home.run(["sessions", "show", "plan 0"])).code).toBe(3);
  });
});

describe("the terminal of these tests", () => {
  it("reports the screen content when a wait times out", async () => {
    const terminal = startTerminal(["bash", "-c", "echo here; read"], { timeoutMs: 200 });
    await terminal.waitFor("here");
    await expect(terminal.waitFor("there")).rejects.toThrow(/not on the screen.*\| here/s);
    terminal.press("enter");
    await terminal.ended;
    await expect(terminal.waitFor("there")).rejects.toThrow(/the process ended with code 0/);
  });
});
