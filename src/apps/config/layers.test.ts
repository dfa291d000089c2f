import { chmodSync, mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { beforeEach, describe, expect, it, onTestFinished } from "vitest";
import { temporaryFolder } from "../../../test/support/folder.ts";
import { DEFAULT_RESET_POLICY, resetPolicyToJson } from "../../core/reset-policy.ts";
import { DEFAULT_TOOLS, TOOL_NAMES } from "../../core/tool-settings.ts";
import { systemZone } from "../../system/system-clock.ts";
import { type Home, resolveHome } from "../home.ts";
import { formatConfigProblem } from "./config-problem.ts";
import { parseTextLayer, readEnvironmentLayer, readLayers } from "./layers.ts";
import { loadConfig } from "./load-config.ts";
import { SETTINGS } from "./settings.ts";

const TOKEN = "110201543:AAHdqTcvCH1vGWJxfSeofSAs0K5PALDsaw";
let home: Home;
let cwd: string;

beforeEach(() => {
  const temporary = temporaryFolder();
  onTestFinished(() => temporary.remove());
  home = resolveHome({ POSTRIDER_HOME: join(temporary.path, "home") });
  cwd = join(temporary.path, "project");
  for (const folder of [home.folder, cwd]) mkdirSync(folder);
});

const inHome = (text: string, mode = 0o600): void => {
  writeFileSync(join(home.folder, "config.yaml"), text, { mode });
};
const inProject = (text: string): void => writeFileSync(join(cwd, "postrider.yaml"), text);
const load = (environment: NodeJS.ProcessEnv = {}) => loadConfig({ home, cwd, environment });
const found = (text: string, role: "home" | "project" = "home"): string[] =>
  parseTextLayer("c.yaml", text, role).problems.map(formatConfigProblem);

describe("the configuration", () => {
  it("has the defaults when nothing is set", () => {
    expect(load()).toEqual({
      notices: [],
      config: {
        gateway: {
          zone: systemZone(),
          profile: "main",
          reset: { default: DEFAULT_RESET_POLICY, byType: {}, byPlatform: {} },
          scope: { groupsPerUser: true, threadsPerUser: true },
          privacy: { redactPii: false },
          access: { everywhere: { strangers: "pair" }, platforms: {} },
          busy: "interrupt",
          maxPending: 100,
          turnMinutes: 30,
          streaming: true,
          personalities: {},
          compressAt: 0.85,
          tools: DEFAULT_TOOLS,
          memory: { enabled: true, flush: true },
          homes: [],
          platforms: [],
        },
        platforms: { telegram: { enabled: false, requireMention: true, replyTo: "first" } },
        model: {},
        log: { level: "info" },
        plugins: [],
      },
    });
  });

  it("shows the default policy that applies", () => {
    const shown = SETTINGS.filter(({ key }) => key.startsWith("session_reset."));
    expect(Object.fromEntries(shown.map(({ key, default: value }) => [key.split(".")[1], value]))).toEqual(
      resetPolicyToJson(DEFAULT_RESET_POLICY),
    );
  });

  it("prefers the environment, then the home's file, then the project's, for each value", () => {
    inProject("session_reset: { at_hour: 1, idle_minutes: 11, mode: idle }\nprofile: project\n");
    inHome("session_reset: { at_hour: 2, idle_minutes: 22 }\n");
    const { config } = load({ SESSION_RESET_HOUR: "3" });
    expect(config.gateway.reset.default).toEqual({
      ...DEFAULT_RESET_POLICY,
      mode: "idle",
      atHour: 3,
      idleMinutes: 22,
    });
    expect(config.gateway.profile).toBe("project");
    const { values } = readLayers({ home, cwd, environment: { SESSION_RESET_HOUR: "3" } });
    expect(values.get("session_reset.at_hour")?.origin).toEqual({
      from: "environment",
      variable: "SESSION_RESET_HOUR",
    });
    expect(values.get("profile")?.origin).toEqual({
      from: "file",
      file: join(cwd, "postrider.yaml"),
      line: 2,
    });
  });

  it("reads everything that a gateway needs", () => {
    inHome(`
timezone: asia/tokyo
reset_by_platform: { telegram: { mode: none } }
reset_by_type:
  group: { mode: daily, at_hour: 0 }
group_sessions_per_user: no
privacy: { redact_pii: true }
access: { allow: [ada, "+15551234567", 0049], strangers: ignore }
platforms:
  telegram: { token: "${TOKEN}", require_mention: off, reply_to: all, allow: 42, home_channel: -1001234567890123456 }
  discord: { allow: [123456789012345678], allow_all: false }
gateway: { busy: queue, most_waiting: 5, turn_minutes: 7, streaming: false }
instructions: |
  Be brief.
  Be kind.
personalities: { pirate: "Arr.", "2": Two. }
compression: { enabled: false }
model: { provider: openai, name: m, api_key: k, window: 128000 }
log: { level: debug }
`);
    const { gateway, platforms, model, log } = load().config;
    expect(gateway).toMatchObject({
      zone: "Asia/Tokyo",
      reset: {
        byPlatform: { telegram: { ...DEFAULT_RESET_POLICY, mode: "none" } },
        byType: { group: { ...DEFAULT_RESET_POLICY, mode: "daily", atHour: 0 } },
      },
      scope: { groupsPerUser: false, threadsPerUser: true },
      privacy: { redactPii: true },
      access: {
        everywhere: { allow: ["ada", "+15551234567", "0049"], strangers: "ignore" },
        platforms: {
          telegram: { allow: ["42"] },
          discord: { allow: ["123456789012345678"], allowAll: false },
        },
      },
      busy: "queue",
      maxPending: 5,
      turnMinutes: 7,
      streaming: false,
      instructions: "Be brief.\nBe kind.\n",
      personalities: { pirate: "Arr.", "2": "Two." },
      homes: [{ platform: "telegram", chatId: "-1001234567890123456", name: "Home" }],
      platforms: [
        { platform: "telegram", state: "enabled" },
        { platform: "discord", state: "unsupported" },
      ],
    });
    expect(gateway).not.toHaveProperty("compressAt");
    expect(platforms.telegram).toEqual({
      enabled: true,
      token: TOKEN,
      requireMention: false,
      replyTo: "all",
      homeChannel: { platform: "telegram", chatId: "-1001234567890123456", name: "Home" },
    });
    expect(model).toEqual({ provider: "openai", name: "m", apiKey: "k", window: 128_000 });
    expect(log.level).toBe("debug");
  });

  it("reads the tool permissions and the memory settings", () => {
    inHome(`
tools:
  owner: all
  member: [read_file, session_search]
  groups: none
  by_platform: { telegram: memory, discord: [] }
  folder: ~/work/../play/
  folders: [/srv/shared, ~/notes]
  environment: [LANG, _X1]
  timeout_seconds: 600
  notifications: false
memory: { enabled: no, flush: off }
`);
    const { tools, memory } = load().config.gateway;
    expect(tools).toEqual({
      owner: TOOL_NAMES,
      member: ["read_file", "session_search"],
      groups: [],
      byPlatform: { telegram: ["memory"], discord: [] },
      folder: join(homedir(), "play"),
      folders: ["/srv/shared", join(homedir(), "notes")],
      environment: ["LANG", "_X1"],
      timeoutSeconds: 600,
      notifications: "off",
    });
    expect(memory).toEqual({ enabled: false, flush: false });
  });

  it("keeps the answer to strangers per platform beside the general one", () => {
    inHome("access: { strangers: ignore }\nplatforms: { whatsapp: { strangers: pair } }\n");
    expect(load().config.gateway.access).toEqual({
      everywhere: { strangers: "ignore" },
      platforms: { whatsapp: { strangers: "pair" } },
    });
  });

  it("treats null and empty values and sections as absent", () => {
    inHome("timezone: ~\nsession_reset:\n  at_hour: null\n  idle_minutes:\naccess:\n");
    expect(load().config).toEqual(
      loadConfig({ home: { ...home, folder: cwd }, cwd, environment: {} }).config,
    );
  });

  it("redacts names with a stable key of the home", () => {
    inHome("privacy: { redact_pii: strict }\n");
    const { privacy } = load().config.gateway;
    expect(privacy).toEqual({ redactPii: "strict", homeKey: expect.stringMatching(/^[0-9a-f]{64}$/) });
    expect(load().config.gateway.privacy).toEqual(privacy);
  });

  it("makes a file with a secret private, and reports it once", () => {
    inHome(`platforms: { telegram: { token: "${TOKEN}" } }\n`);
    chmodSync(join(home.folder, "config.yaml"), 0o644);
    expect(load().notices).toEqual([expect.stringContaining("Postrider made it private")]);
    expect(load().notices).toEqual([]);
  });

  it("does not change the mode of a file without secrets", () => {
    inHome("timezone: UTC\n");
    chmodSync(join(home.folder, "config.yaml"), 0o644);
    expect(load().notices).toEqual([]);
  });
});

describe("the environment", () => {
  it.each([
    ["TELEGRAM_ALLOWED_USERS", "1, 2,,3", "platforms.telegram.allow", ["1", "2", "3"]],
    ["SIGNAL_ALLOWED_USERS", "+1555", "platforms.signal.allow", ["+1555"]],
    ["HOMEASSISTANT_HOME_CHANNEL", "ha_events", "platforms.homeassistant.home_channel", "ha_events"],
    ["DISCORD_ALLOW_ALL_USERS", "YES", "platforms.discord.allow_all", true],
    ["POSTRIDER_ALLOW_ALL_USERS", "off", "access.allow_all", false],
    ["TELEGRAM_REPLY_TO_MODE", "First", "platforms.telegram.reply_to", "first"],
    ["POSTRIDER_BUSY", "collect", "gateway.busy", "collect"],
    ["POSTRIDER_REDACT_PII", "1", "privacy.redact_pii", "true"],
    ["POSTRIDER_COMPRESS_AT", ".5", "compression.at", 0.5],
    ["POSTRIDER_BACKGROUND_NOTIFICATIONS", "Error", "tools.notifications", "error"],
    ["POSTRIDER_BACKGROUND_NOTIFICATIONS", "false", "tools.notifications", "off"],
    ["POSTRIDER_TOOLS_TIMEOUT", "30", "tools.timeout_seconds", 30],
    ["POSTRIDER_TOOLS_WORKSPACE", "~/agents", "tools.workspace", join(homedir(), "agents")],
    ["POSTRIDER_TOOLS_FOLDER", "~/work", "tools.folder", join(homedir(), "work")],
    ["POSTRIDER_MEMORY_FLUSH", "no", "memory.flush", false],
  ])("sets by %s=%s", (variable, text, key, value) => {
    const { values, problems } = readEnvironmentLayer({ [variable]: text });
    expect(problems).toEqual([]);
    expect([...values]).toEqual([[key, { value, origin: { from: "environment", variable } }]]);
  });

  it("reports all invalid variables at once; an empty variable counts as unset", () => {
    const environment = {
      TELEGRAM_ALLOW_ALL_USERS: "maybe",
      SESSION_RESET_HOUR: "24",
      SESSION_IDLE_MINUTES: "",
    };
    expect(readEnvironmentLayer(environment).problems.map(formatConfigProblem)).toEqual([
      "SESSION_RESET_HOUR (session_reset.at_hour) must be a whole number from 0 to 23, not 24.",
      "TELEGRAM_ALLOW_ALL_USERS (platforms.telegram.allow_all) must be true or false (or yes, on, 1, no, off, 0), not maybe.",
    ]);
  });
});

describe("a workspace folder for agents", () => {
  const problems = (environment: NodeJS.ProcessEnv = {}) =>
    readLayers({ home, cwd, environment }).problems.map(formatConfigProblem);
  const outside = (inside: string) => `must be outside Postrider's home ${home.folder}; ${inside} is inside.`;

  it.each([
    ["workspace", (path: string) => path],
    ["folder", (path: string) => path],
    ["folders", (path: string) => `[/srv, "${path}"]`],
  ])("is refused inside the home, with file, line and key: tools.%s", (name, written) => {
    symlinkSync(home.folder, join(cwd, "link"));
    for (const path of [home.folder, join(home.folder, "a", "b"), join(cwd, "link", "not-there")]) {
      inHome(`log: { level: info }\ntools:\n  ${name}: ${written(path)}\n`);
      const file = join(home.folder, "config.yaml");
      expect(problems()).toEqual([`${file}:3: tools.${name} ${outside(path)}`]);
      expect(() => load()).toThrow(outside(path));
    }
  });

  it("is refused inside the home when a variable names it", () => {
    const inside = join(home.folder, "work");
    expect(problems({ POSTRIDER_TOOLS_WORKSPACE: inside })).toEqual([
      `POSTRIDER_TOOLS_WORKSPACE (tools.workspace) ${outside(inside)}`,
    ]);
  });

  it("may be beside or above the home", () => {
    const folders = [`${home.folder}.workspace`, `${home.folder}-2`, join(home.folder, "..")];
    inHome(`tools:\n  workspace: ${folders[0]}\n  folder: ${folders[1]}\n  folders: [${folders[2]}]\n`);
    expect(problems()).toEqual([]);
    expect(load().config.gateway.tools).toMatchObject({ workspace: folders[0], folder: folders[1] });
  });
});

describe("a problem", () => {
  it.each([
    ["a: 1\n", "c.yaml:1: a is not a setting"],
    ["\n\nsesion_reset: {}\n", "c.yaml:3: sesion_reset is not a setting; did you mean session_reset?"],
    [
      "session_reset:\n  atHour: 4\n",
      "c.yaml:2: session_reset.atHour is not a setting; did you mean session_reset.at_hour?",
    ],
    ["at_hour: 4\n", "c.yaml:1: at_hour is not a setting; did you mean session_reset.at_hour?"],
    ["telegram:\n  token: x\n", "c.yaml:1: telegram is not a setting; did you mean platforms.telegram?"],
    [
      "platforms: { telegrm: {} }\n",
      "c.yaml:1: platforms.telegrm is not a setting; did you mean platforms.telegram?",
    ],
    [
      "platforms:\n  discord:\n    require_mention: true\n",
      "c.yaml:3: platforms.discord.require_mention is not a setting; did you mean platforms.telegram.require_mention?",
    ],
    ["session_reset: 4\n", "c.yaml:1: session_reset must be a section with settings, not 4."],
    [
      "session_reset:\n  at_hour: 24\n",
      "c.yaml:2: session_reset.at_hour must be a whole number from 0 to 23, not 24.",
    ],
    [
      "session_reset:\n  at_hour: [4]\n",
      "c.yaml:2: session_reset.at_hour must be a whole number from 0 to 23, not a list.",
    ],
    [
      "session_reset: { idle_minutes: 0 }\n",
      "c.yaml:1: session_reset.idle_minutes must be a whole number of at least 1, not 0.",
    ],
    [
      "session_reset: { mode: never }\n",
      "c.yaml:1: session_reset.mode must be one of both, idle, daily, none, not never.",
    ],
    [
      "session_reset: { notify_exclude_platforms: [telegramm] }\n",
      "c.yaml:1: session_reset.notify_exclude_platforms must be a list of platforms",
    ],
    [
      "reset_by_platform:\n  telegram:\n    at_hour: -1\n",
      "c.yaml:3: reset_by_platform.telegram.at_hour must be a whole number from 0 to 23, not -1.",
    ],
    [
      "reset_by_platform:\n  telegram:\n    idle_minutes: 1.5\n",
      "c.yaml:3: reset_by_platform.telegram.idle_minutes must be a whole number of at least 1, not 1.5.",
    ],
    [
      "reset_by_type:\n  group:\n    hour: 3\n",
      "c.yaml:3: reset_by_type.group.hour is not a setting; did you mean reset_by_type.group.at_hour?",
    ],
    [
      "reset_by_type: { gruop: {} }\n",
      "c.yaml:1: reset_by_type.gruop is not a chat type; did you mean group?",
    ],
    [
      "tools: { member: [memroy] }\n",
      "c.yaml:1: tools.member must be all, none, or a list of tools (terminal, process, read_file, write_file, patch, session_search, memory), not a list; did you mean memory?",
    ],
    ["tools: { owner: [all, memory] }\n", "c.yaml:1: tools.owner must be all, none, or a list of tools"],
    ["tools: { membr: none }\n", "c.yaml:1: tools.membr is not a setting; did you mean tools.member?"],
    [
      "tools: { by_platform: { telegrm: none } }\n",
      "c.yaml:1: tools.by_platform.telegrm is not a setting; did you mean tools.by_platform.telegram?",
    ],
    [
      "tools: { folder: ../here }\n",
      'c.yaml:1: tools.folder must be an absolute path of a folder, starting with / or ~/, not "../here".',
    ],
    [
      "tools: { folders: [/a, ~ada] }\n",
      "c.yaml:1: tools.folders must be a list of absolute paths of folders",
    ],
    ["tools: { environment: [A=b] }\n", "c.yaml:1: tools.environment must be a list of variable names"],
    [
      "tools: { timeout_seconds: 601 }\n",
      "c.yaml:1: tools.timeout_seconds must be a whole number from 1 to 600, not 601.",
    ],
    [
      "tools: { notifications: some }\n",
      "c.yaml:1: tools.notifications must be one of all, result, error, off, not some.",
    ],
    ["timezone: Mars/Olympus\n", "c.yaml:1: timezone must be the name of a time zone"],
    [
      "compression: { at: 85 }\n",
      "c.yaml:1: compression.at must be a number from 0.1 to 1, such as 0.85, not 85.",
    ],
    [
      "access: { allow: ['*'] }\n",
      "c.yaml:1: access.allow must be a list of ids ([1, 2], or 1,2); to allow everyone, set allow_all",
    ],
    ["access: { allow_all: maybe }\n", "c.yaml:1: access.allow_all must be true or false"],
    ["profile: main\nprofile: other\n", "c.yaml:2: is not YAML here: duplicate key."],
    [
      "gateway:\n\tbusy: queue\n",
      "c.yaml:2: is not YAML here: tabs are not allowed as indentation; use spaces.",
    ],
    ["- a\n- b\n", "c.yaml:1: must be settings, each as `name: value`."],
    ["just words\n", "c.yaml:1: must be settings, each as `name: value`."],
    ["__proto__: { a: 1 }\n", "c.yaml:1: has a key that is not a name."],
    ["personalities: { __proto__: evil }\n", "c.yaml:1: has a key that is not a name."],
    ["timezone: !!int UTC\n", "c.yaml:1: is not YAML here: tags such as !name are not supported."],
    [
      `a: &a [x, x, x, x, x, x, x, x]\n${"bcdefg"
        .split("")
        .map((name, at) => `${name}: &${name} [${Array(8).fill(`*${"abcdef"[at]}`)}]\n`)
        .join("")}`,
      "has too many entries for a configuration",
    ],
  ])("is found in %j with its line and the expected value", (text, expected) => {
    expect(found(text)).toContainEqual(expect.stringContaining(expected));
  });

  it("does not hide other problems", () => {
    expect(found("a1: 1\nsession_reset: { at_hour: 99, mode: x }\nlog: { level: loud }\n")).toHaveLength(4);
  });

  it("never repeats a misplaced secret", () => {
    const texts = [
      `platforms: { telegram: { token: [${TOKEN}] } }`,
      `platforms: { telegram: { tokn: "${TOKEN}" } }`,
      `platforms: { telegram: "${TOKEN}: x" }`.replace("telegram:", "telegrm:"),
      `"${TOKEN}": 1`,
      `${TOKEN}`,
      `platforms:\n  telegram:\n    token: ${TOKEN}: x\n`,
      `model: { api_key: { a: ${TOKEN} } }`,
      `model: { base_url: "ftp://ada:${TOKEN}@example.org" }`,
      `token: "${TOKEN}\n  x: 'y`,
      `? [${TOKEN}]\n: 1`,
      `token: *${TOKEN.slice(0, 9)}`,
    ];
    for (const text of texts) {
      const lines = [...found(text), ...found(text, "project")];
      expect(lines.length, text).toBeGreaterThan(0);
      expect(lines.join("\n")).not.toContain(TOKEN.slice(-20));
    }
    const environment = { POSTRIDER_BASE_URL: `ada:${TOKEN}@x`, TELEGRAM_BOT_TOKEN: TOKEN };
    expect(readEnvironmentLayer(environment).problems.map(formatConfigProblem).join()).not.toContain(TOKEN);
  });

  it.each(["a folder", "a link to nowhere", "not UTF-8", "too large"])(
    "is %s in the file's place",
    (what) => {
      const file = join(home.folder, "config.yaml");
      if (what === "a folder") mkdirSync(file);
      if (what === "a link to nowhere") symlinkSync(file, file);
      if (what === "not UTF-8") writeFileSync(file, new Uint8Array([0xc3, 0x28]));
      if (what === "too large") writeFileSync(file, `# ${"x".repeat(300_000)}`);
      expect(readLayers({ home, cwd, environment: {} }).problems).toEqual([
        expect.objectContaining({ file, line: 1 }),
      ]);
    },
  );
});

describe("a project's file", () => {
  it("may set only project settings, and none for access, keys, addresses or people", () => {
    inProject(`profile: work
access: { allow_all: true }
platforms: { telegram: { token: "${TOKEN}" } }
model: { name: small, api_key: k, base_url: "http://evil.example", provider: compatible }
privacy: { redact_pii: false }
tools: { owner: all }
memory: { enabled: true }
secrets: 1
`);
    const { config, notices } = load();
    expect(config.gateway.profile).toBe("work");
    expect(config.model).toEqual({ name: "small" });
    expect(config.gateway.access).toEqual({ everywhere: { strangers: "pair" }, platforms: {} });
    expect(config.platforms.telegram.enabled).toBe(false);
    expect(notices.map((text) => text.replace(/^.*postrider\.yaml:/, ""))).toEqual(
      [
        ["2: access", "3: platforms", "4: model.api_key", "4: model.base_url", "4: model.provider"],
        ["5: privacy", "6: tools", "7: memory", "8: secrets"],
      ]
        .flat()
        .map(
          (key) =>
            `${key} is not allowed in a project's file; set it in the home's config.yaml. It is ignored.`,
        ),
    );
  });

  it("stops the start when an allowed setting is invalid", () => {
    inProject("profile: work\nsession_reset: { at_hour: 24 }\n");
    expect(() => load()).toThrow(expect.objectContaining({ code: "invalid_config" }));
  });
});

/** Texts that are nearly a configuration. */
const line = fc.oneof(
  fc.string({ unit: "binary", maxLength: 20 }),
  fc
    .tuple(
      fc.constantFrom("", "  ", "    ", "- ", "\t"),
      fc.constantFrom(...SETTINGS.flatMap(({ key }) => key.split("."))),
      fc.constantFrom(":", ": ", ":  # c", ""),
      fc.oneof(
        fc.constantFrom(
          "4",
          "true",
          "[1, 2]",
          "{a: 1}",
          "~",
          "&a x",
          "*a",
          "|",
          "!!int 4",
          "'",
          '"',
          "<<",
          "UTC",
        ),
        fc.string({ maxLength: 8 }),
      ),
    )
    .map((parts) => parts.join("")),
);

describe("any text", () => {
  it("gives values or problems with a line, and never throws", () => {
    fc.assert(
      fc.property(
        fc.array(line, { maxLength: 12 }),
        fc.constantFrom("home" as const, "project"),
        (lines, role) => {
          const text = lines.join("\n");
          const { values, problems } = parseTextLayer("c.yaml", text, role);
          for (const problem of problems) {
            expect(problem.line).toBeGreaterThanOrEqual(1);
            expect(problem.line).toBeLessThanOrEqual(text.split(/\r\n|[\r\n]/).length + 1);
          }
          if (problems.some(({ ignored }) => !ignored)) expect(values.size).toBe(0);
        },
      ),
      { numRuns: 3000 },
    );
  });

  it.each(["[", "{a: ", "- ", "a:\n "])("is read quickly when %j occurs twenty thousand times", (part) => {
    expect(parseTextLayer("c.yaml", part.repeat(20_000), "home").problems[0]?.line).toBeGreaterThanOrEqual(1);
  });
});
