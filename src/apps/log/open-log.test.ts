import { readFileSync } from "node:fs";
import { describe, expect, it, onTestFinished } from "vitest";
import { temporaryFolder } from "../../../test/support/folder.ts";
import { PostriderError } from "../../core/errors.ts";
import { getLogFile, type OpenLog, type OpenLogOptions, openLog } from "./open-log.ts";
import { collectSecrets } from "./secrets.ts";

const TOKEN = "123456789:AAE-x_y1234567890abcdefghijklmnop";

function opened(options: Partial<OpenLogOptions> = {}) {
  const folder = temporaryFolder();
  onTestFinished(() => folder.remove());
  const home = { folder: folder.path };
  let shown = "";
  const show = {
    write(text: string) {
      shown += text;
    },
  };
  const log: OpenLog = openLog({ home, level: "info", show, ...options });
  onTestFinished(() => log.close());
  const file = (): string => readFileSync(getLogFile(home), "utf8");
  const lines = (): Record<string, unknown>[] =>
    file()
      .trimEnd()
      .split("\n")
      .map((line) => JSON.parse(line));
  return { log, shown: () => shown, file, lines };
}

describe("the log", () => {
  it("writes one JSON object per line, with fields, message, time and level", () => {
    const { log, lines, shown, file } = opened();
    log.info({ turn: 7, session: "s" }, "a turn begins");
    expect(lines()).toEqual([
      {
        level: "info",
        time: expect.any(Number),
        pid: process.pid,
        turn: 7,
        session: "s",
        msg: "a turn begins",
      },
    ]);
    expect(shown()).toBe(file());
  });

  it("is short for people: time, level, message, fields", () => {
    const { log, shown } = opened({ pretty: { color: false } });
    log.warn({ turn: 7 }, "not delivered yet");
    expect(shown()).toMatch(/^\[\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\] WARN: not delivered yet \{"turn":7\}\n$/);
  });

  it("omits lines below its level, which can change at run time", () => {
    const { log, lines } = opened();
    log.debug({}, "one");
    log.level("debug");
    log.debug({}, "two");
    log.level("error");
    log.warn({}, "three");
    log.error({}, "four");
    expect(lines().map(({ msg }) => msg)).toEqual(["two", "four"]);
  });

  const leaks: readonly [where: string, (log: OpenLog) => void][] = [
    ["a message", (log) => log.info({}, `the token is ${TOKEN}`)],
    ["a field", (log) => log.info({ token: TOKEN, deep: { list: [{ a: TOKEN }] }, [TOKEN]: 1 }, "x")],
    ["an error's message", (log) => log.error({ error: new Error(`bad ${TOKEN}`) }, "x")],
    [
      "an error's cause",
      (log) =>
        log.error(
          { error: new Error("bad", { cause: new Error("worse", { cause: new Error(TOKEN) }) }) },
          "x",
        ),
    ],
    [
      "an error's stack",
      (log) => {
        const error = new Error("bad");
        error.stack = `Error: bad\n    at fetch (https://api.telegram.org/bot${TOKEN}/getMe:1:1)`;
        log.error({ error }, "x");
      },
    ],
    [
      "an error's details",
      (log) => log.error({ error: new PostriderError("internal", "x", { details: { url: TOKEN } }) }, "x"),
    ],
    ["an address", (log) => log.info({ url: `https://x/?t=${encodeURIComponent(TOKEN)}` }, "x")],
    [
      "JSON in JSON",
      (log) => log.info({ body: JSON.stringify({ body: JSON.stringify({ a: TOKEN }) }) }, "x"),
    ],
    ["the secret half of a token", (log) => log.info({}, TOKEN.split(":")[1] ?? "")],
  ];
  it.each(leaks)("masks a secret in %s, in the file and on the screen", (_, leak) => {
    for (const pretty of [undefined, { color: false }]) {
      const { log, file, shown } = opened(pretty && { pretty });
      log.addSecrets(collectSecrets({ TELEGRAM_BOT_TOKEN: TOKEN }));
      leak(log);
      for (const text of [file(), shown()]) {
        expect(text).toContain("[secret]");
        expect(text).not.toContain(TOKEN.split(":")[1]);
      }
    }
  });

  it("masks a secret with characters that JSON writes differently", () => {
    const secret = 'quote" back\\slash ü\n';
    const { log, file, lines } = opened();
    log.addSecrets([secret]);
    log.info({ a: secret.trim() }, JSON.stringify({ b: secret.trim() }));
    expect(lines()).toMatchObject([{ a: "[secret]", msg: '{"b":"[secret]"}' }]);
    expect(file()).not.toContain("slash");
  });

  it("still masks a secret that was replaced", () => {
    const { log, file } = opened();
    log.addSecrets(["first-secret"]);
    log.addSecrets(["second-secret"]);
    log.info({}, "first-secret second-secret");
    expect(file()).not.toMatch(/first-secret|second-secret/);
  });

  it("shows text of strangers without control characters", () => {
    const { log, shown } = opened({ pretty: { color: false } });
    log.info({ user: "\u001b[2J\u009b31m \\u001b" }, "\u001b]0;title\u0007 hello");
    // biome-ignore lint/suspicious/noControlCharactersInRegex: that there is none is what is promised
    expect(shown()).not.toMatch(/[\u0000-\u0009\u000b-\u001f\u007f-\u009f]/);
    expect(shown()).toContain("hello");
  });

  it("finds the secrets of the environment by their names, and ignores short placeholders", () => {
    const environment = {
      OPENAI_API_KEY: "sk-1234567890",
      MY_PASSWORD: "correct horse",
      POSTRIDER_BASE_URL: "https://me:hunter2hunter2@models.example/v1",
      PATH: "/usr/bin:/bin",
      KEYBOARD: "querty-querty",
      OTHER_API_KEY: "none",
    };
    const { log, lines } = opened();
    log.addSecrets(collectSecrets(environment));
    log.info(environment, "x");
    expect(lines()[0]).toMatchObject({
      OPENAI_API_KEY: "[secret]",
      MY_PASSWORD: "[secret]",
      POSTRIDER_BASE_URL: "https://me:[secret]@models.example/v1",
      PATH: "/usr/bin:/bin",
      KEYBOARD: "querty-querty",
      OTHER_API_KEY: "none",
    });
  });
});
