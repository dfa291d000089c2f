/** Writes under a limit on the file size until nothing fits; continues when the limit is raised. */
import { createSessions, OWNER, PostriderError, sqliteStore } from "../../src/index.ts";
import { say, told } from "../support/child.ts";
import { commitsInLog } from "../support/database.ts";

export interface SaidByWriter {
  readonly step: "batch" | "filled" | "after";
  /** `ok` or an error's code, in the order of the calls. */
  readonly outcomes: readonly string[];
  /** The first words of the acknowledged messages, in order. */
  readonly stored: readonly string[];
  readonly commits?: number;
  readonly commitsOfOneTick?: number;
}

const [file = "", mode] = process.argv.slice(2);
const who = { person: OWNER };
const store = await sqliteStore({ file, mode: mode === "in-process" ? mode : "workers" });
const sessions = createSessions({ store });

/** Appends each list of texts by a separate call, all in one tick. */
async function append(...calls: readonly (readonly string[])[]) {
  const settled = await Promise.allSettled(
    calls.map((texts) =>
      sessions.append(
        who,
        "talk",
        texts.map((text) => ({ role: "note" as const, text })),
      ),
    ),
  );
  const outcomes = settled.map((one) => {
    if (one.status === "fulfilled") return "ok";
    return one.reason instanceof PostriderError ? one.reason.code : String(one.reason);
  });
  const stored = calls.flatMap((texts, index) => (outcomes[index] === "ok" ? texts : []));
  return { outcomes, stored: stored.map((text) => text.split(" ")[0] ?? "") };
}

const larger = "x".repeat(6 * 1024 * 1024);
const start = commitsInLog(file);
const calm = await append(["calm-1"], ["calm-2"], ["calm-3"]);
const commitsOfOneTick = commitsInLog(file) - start;
const middle = commitsInLog(file);
const batch = await append(["a-1", "a-2"], ["b"], ["c-1", `c-2 ${larger}`, "c-3"], ["d"]);
say({
  step: "batch",
  outcomes: batch.outcomes,
  stored: [...calm.stored, ...batch.stored],
  commits: commitsInLog(file) - middle,
  commitsOfOneTick,
} satisfies SaidByWriter);

const outcomes: string[] = [];
const stored: string[] = [];
for (let n = 1; outcomes.at(-1) !== "disk_full" && n < 1000; n += 1) {
  const one = await append([`fill-${n} ${"y".repeat(100_000)}`]);
  outcomes.push(...one.outcomes);
  stored.push(...one.stored);
}
say({ step: "filled", outcomes, stored } satisfies SaidByWriter);

for await (const _goOn of told()) break;
say({
  step: "after",
  ...(await append(["e-1", `e-2 ${larger}`], ["f"])),
} satisfies SaidByWriter);
await store.close();
process.exit(0);
