import { existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { OWNER, sqliteStore } from "../src/index.ts";
import { ADA, type GatewayScene, gatewayScene, SECRET, TOKEN } from "./support/gateway-program.ts";
import { startPostrider } from "./support/terminal.ts";

/** The configuration grants nobody access and has no token. */
const ALONE = { TELEGRAM_BOT_TOKEN: "", TELEGRAM_ALLOWED_USERS: "" };
const LINK = /https:\/\/t\.me\/fake_bot\?start=([A-Z2-9]{4}-[A-Z2-9]{4})/;

function tokenFile({ home }: GatewayScene, token = TOKEN): string {
  const file = join(home, "..", "token.txt");
  writeFileSync(file, `${token}\n`);
  return file;
}

function configOf({ home }: GatewayScene): string {
  return readFileSync(join(home, "config.yaml"), "utf8");
}

async function ownerAccounts({ home }: GatewayScene): Promise<readonly (string | undefined)[]> {
  const store = await sqliteStore({ file: join(home, "postrider.db"), mode: "in-process" });
  try {
    const owner = (await store.access.listGrants()).find(({ person }) => person === OWNER);
    return (
      owner?.accounts.filter(({ platform }) => platform === "telegram").map(({ userId }) => userId) ?? []
    );
  } finally {
    await store.close();
  }
}

describe("postrider connect telegram", () => {
  it("sets up a bot by options alone, waits for the code, greets, and leaves everything ready", async () => {
    const scene = await gatewayScene();
    const { start, fake, chat, answers, home } = scene;
    const args = ["connect", "telegram", "--token-file", tokenFile(scene), "--wait", "60", "--json"];
    const program = start(args, ALONE);
    const [, code] = await program.noted(LINK);
    await fake.say(chat, ADA, `/start ${code}`);
    const { code: exit, out, err } = await program.ended;
    expect({ exit, err }).toMatchObject({ exit: 0 });
    expect(JSON.parse(out)).toEqual({
      platform: "telegram",
      account: "4242",
      username: "fake_bot",
      file: join(home, "config.yaml"),
      changed: true,
      gateway_running: false,
      link: {
        code,
        url: `https://t.me/fake_bot?start=${code}`,
        expires_at: expect.any(Number),
        used: true,
        user_id: String(ADA),
        user_name: "Ada",
      },
    });
    expect(await answers()).toEqual([
      expect.stringContaining("this chat is yours now"),
      expect.stringMatching(
        /^Hello from \S+\. I am ready\. I answer while postrider gateway run is running there\.$/,
      ),
    ]);
    expect(await ownerAccounts(scene)).toEqual([String(ADA)]);
    expect(configOf(scene)).toContain(TOKEN);
    expect(statSync(join(home, "config.yaml")).mode & 0o777).toBe(0o600);
    expect(`${out}${err}${readFileSync(join(home, "logs", "gateway.log"), "utf8")}`).not.toContain(SECRET);

    // A gateway needs no further setup.
    await scene.gateway([], ALONE);
    expect(await scene.ask("hello")).toMatch(/^You said: hello/);
  });

  it("uses a gateway that is already running", async () => {
    const scene = await gatewayScene();
    const { start, gateway, fake, chat, answers } = scene;
    const quiet = { TELEGRAM_ALLOWED_USERS: "" };
    const running = await gateway([], quiet);
    const program = start(["connect", "telegram", "--wait", "60"], quiet);
    const [, code] = await program.noted(LINK);
    await fake.say(chat, ADA, `/pair ${code}`);
    expect(await program.ended).toMatchObject({ code: 0, out: "https://t.me/fake_bot\n" });
    await fake.untilAnswered(chat, 2);
    expect((await answers())[1]).toMatch(/^Hello from \S+\. I am ready\.$/);
    running.signal("SIGTERM");
    expect(await running.ended).toMatchObject({ code: 0 });
  });

  it("creates a code without waiting, and none if an account is linked", async () => {
    const scene = await gatewayScene();
    const { runHere, gateway, fake, chat } = scene;
    const first = await runHere(["connect", "telegram", "--token", TOKEN, "--json"], ALONE);
    const { link } = JSON.parse(first.out) as { link: { code: string; used: boolean } };
    expect(link).toMatchObject({ used: false, user_id: null });
    await gateway([], ALONE);
    await fake.say(chat, ADA, `/start ${link.code}`);
    await fake.untilAnswered(chat, 1);
    const again = await runHere(["connect", "telegram"], ALONE);
    expect(again).toMatchObject({
      code: 0,
      err: expect.stringContaining("Your account Ada (7) is already linked"),
    });
    const more = await runHere(["connect", "telegram", "--link", "--json"], ALONE);
    expect(JSON.parse(more.out)).toMatchObject({
      changed: false,
      gateway_running: true,
      link: { used: false },
    });
    const none = await runHere(["connect", "telegram", "--no-link", "--json"], ALONE);
    expect(JSON.parse(none.out)).toMatchObject({ link: null });
  });

  it("keeps the rest of config.yaml, and replaces another bot only with --yes", async () => {
    const scene = await gatewayScene();
    const { runHere, home } = scene;
    mkdirSync(home, { mode: 0o700 });
    const other = `# mine\ntimezone: UTC # here\nplatforms:\n  telegram:\n    enabled: false\n    token: "1:other-bot-token"\n`;
    writeFileSync(join(home, "config.yaml"), other, { mode: 0o600 });
    const args = ["connect", "telegram", "--token-file", tokenFile(scene), "--no-link"];
    expect(await runHere(args, ALONE)).toMatchObject({ code: 5, err: expect.stringContaining("--yes") });
    expect(configOf(scene)).toBe(other);
    expect(await runHere([...args, "--yes"], ALONE)).toMatchObject({ code: 0 });
    expect(configOf(scene)).toMatch(/^# mine\ntimezone: UTC # here\n/);
    expect(configOf(scene)).toMatch(/enabled: true/);
    expect(configOf(scene)).toContain(TOKEN);
  });

  const failing: readonly [
    what: string,
    args: string[],
    code: number,
    said: RegExp,
    environment?: NodeJS.ProcessEnv,
  ][] = [
    [
      "a token that Telegram does not accept",
      ["--token", "1:nobody-knows-this-token"],
      1,
      /does not accept the token\. Copy it again/,
    ],
    ["an invalid token", ["--token", "hello"], 1, /A token looks like/],
    ["no token", [], 1, /https:\/\/t\.me\/BotFather.*--token-file/s],
    ["a missing file", ["--token-file", "/nowhere/token"], 3, /Cannot read \/nowhere\/token/],
    ["two tokens", ["--token", TOKEN, "--token-file", "x"], 2, /cannot be used together/],
    [
      "no network",
      ["--token", TOKEN],
      1,
      /could not be reached/,
      { TELEGRAM_API_ROOT: "http://127.0.0.1:9" },
    ],
  ];
  it.each(failing)(
    "explains the problem with %s, and writes nothing",
    async (_, args, code, said, environment) => {
      const scene = await gatewayScene();
      const ended = await scene.runHere(["connect", "telegram", ...args], { ...ALONE, ...environment });
      expect(ended).toMatchObject({ code, out: "", err: expect.stringMatching(said) });
      expect(existsSync(join(scene.home, "config.yaml"))).toBe(false);
      expect(ended.err).not.toMatch(/nobody-knows|x_abcdef/);
    },
  );

  it("reports that another program receives the bot's messages, and continues when that stops", async () => {
    const scene = await gatewayScene();
    const { start, fake, chat } = scene;
    await fake.failNext("getUpdates", {
      kind: "error",
      code: 409,
      description: "Conflict: terminated by other getUpdates request",
    });
    const program = start(["connect", "telegram", "--token", TOKEN, "--wait", "60"], ALONE);
    await program.noted(/Another program receives this bot's messages/);
    const [, code] = await program.noted(LINK);
    await fake.say(chat, ADA, `/start ${code}`);
    expect(await program.ended).toMatchObject({
      code: 0,
      err: expect.stringContaining("Linked: Ada (7) is your account."),
    });
  });

  it("links an account that the configuration already allows", async () => {
    const scene = await gatewayScene();
    const program = scene.start(["connect", "telegram", "--wait", "20"]);
    const [, code] = await program.noted(LINK);
    await scene.fake.say(scene.chat, ADA, `/start ${code}`);
    expect(await program.ended).toMatchObject({
      code: 0,
      err: expect.stringContaining("Linked: Ada (7) is your account."),
    });
    expect(await ownerAccounts(scene)).toEqual([String(ADA)]);
  });

  it("prints the next steps if the code is not used in time", async () => {
    const { runHere } = await gatewayScene();
    const { code, err } = await runHere(["connect", "telegram", "--token", TOKEN, "--wait", "1"], ALONE);
    expect(code).toBe(0);
    expect(err).toContain("The code was not used yet. Start postrider gateway run, then use it.");
  });

  it("guides a person in a terminal, and never shows the token", async () => {
    const { fake, chat, home } = await gatewayScene();
    const terminal = startPostrider(["connect", "telegram"], {
      columns: 110,
      rows: 40,
      environment: { POSTRIDER_HOME: home, TELEGRAM_API_ROOT: fake.url, ...ALONE },
    });
    await terminal.waitFor("The bot's token:");
    expect(terminal.screen().join("\n")).toContain("https://t.me/BotFather");
    terminal.type("not a token");
    terminal.press("enter");
    await terminal.waitFor("copy all of it");
    terminal.press("ctrl-u");
    terminal.type(TOKEN);
    terminal.press("enter");
    await terminal.waitFor(LINK);
    await terminal.waitFor("Waiting for the code");
    const [, code] = LINK.exec(terminal.screen().join("\n")) ?? [];
    await fake.say(chat, ADA, `/start ${code}`);
    await terminal.waitFor("Next: postrider gateway run");
    expect(await terminal.ended).toEqual({ code: 0, signal: 0 });
    expect(terminal.everything().join("\n")).toContain("Linked: Ada (7) is your account.");
    expect(terminal.written()).not.toContain(SECRET);
  });

  it("exits with Ctrl-C while it waits, and the code stays valid", async () => {
    const scene = await gatewayScene();
    const { start, gateway, fake, chat } = scene;
    const program = start(["connect", "telegram", "--token", TOKEN, "--wait", "600"], ALONE);
    const [, code] = await program.noted(LINK);
    await program.noted(/Waiting for the code/);
    program.signal("SIGINT");
    expect(await program.ended).toMatchObject({
      code: 0,
      err: expect.stringContaining(`To link it later, send /pair ${code}`),
    });
    await gateway([], ALONE);
    await fake.say(chat, ADA, `/pair ${code}`);
    await fake.untilAnswered(chat, 1);
    expect(await ownerAccounts(scene)).toEqual([String(ADA)]);
  });
});
