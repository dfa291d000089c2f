import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it, vi } from "vitest";
import { RUNNER_DEAD_MS } from "../src/core/runner.ts";
import { look } from "./support/database.ts";
import { ADA, gatewayScene } from "./support/gateway-program.ts";
import { ageHeartbeats } from "./support/heartbeats.ts";
import { schedule } from "./support/schedule.ts";

const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

/** The first gateway is stopped before its answer is complete, even on a busy machine, and continued when it is due. */
const FIRST_ANSWER_MS = 9000;
const NEXT_ANSWER_MS = 1500;

describe.skipIf(process.platform !== "linux")("a gateway that is stopped by SIGSTOP during an answer", () => {
  it("is replaced after half a minute, and neither repeats nor loses anything when it continues", async () => {
    const { gateway, fake, chat, home, answers } = await gatewayScene();
    mkdirSync(home, { mode: 0o700 });
    const writeScript = (name: string, answerMs: number): readonly string[] => {
      const file = join(home, name);
      const say = ["one ", { wait_ms: answerMs }, "two"];
      writeFileSync(file, JSON.stringify({ answers: [{ to: "slow", say }, { say: "last" }] }));
      return ["--agent", `script:${file}`];
    };
    const first = await gateway(writeScript("first.json", FIRST_ANSWER_MS));
    await fake.say(chat, ADA, "slow please");
    await first.logged(({ msg }) => msg === "a turn started");
    await fake.untilShown(chat, "one");
    const isDue = pause(FIRST_ANSWER_MS);
    // Before this, the next gateway cannot know which message is the draft, and the draft would stay.
    await vi.waitFor(() => expect(shownDrafts(home)).toBe(1), 30_000);
    // If it were stopped inside a transaction, it would keep its lock on the database.
    const deadMs = RUNNER_DEAD_MS + 1000;
    ageHeartbeats(home, schedule(deadMs, 0), () => first.signal("SIGSTOP"));
    await pause(schedule(0, deadMs));
    const second = await gateway(writeScript("second.json", NEXT_ANSWER_MS));
    await second.logged(({ msg }) => msg === "a turn ended");
    await fake.untilAnswered(chat, 1);
    await isDue;
    first.signal("SIGCONT");
    const { code, err } = await first.ended;
    expect(code).toBe(5);
    expect(err).toContain("taken over");
    await fake.say(chat, ADA, "slow again");
    await vi.waitFor(async () => expect(await answers()).toEqual(["one two", "one two"]), 30_000);
    // Other deliveries in progress come before the next answer.
    await fake.say(chat, ADA, "and now?");
    await fake.untilAnswered(chat, 3);
    expect(await answers()).toEqual(["one two", "one two", "last"]);
    const texts = look(join(home, "postrider.db"), (db) =>
      db.prepare("select text from messages order by id").pluck().all(),
    );
    expect(texts).toEqual(["slow please", "one two", "slow again", "one two", "and now?", "last"]);
  }, 120_000);
});

/** The drafts whose message id is stored. */
function shownDrafts(home: string): number {
  const sql = "select count(*) from deliveries where state = 'draft' and shown ->> 'messageId' is not null";
  return look(join(home, "postrider.db"), (db) => Number(db.prepare(sql).pluck().get()));
}
