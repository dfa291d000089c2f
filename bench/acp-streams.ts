import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { ask, drive, initialized, newSession } from "./acp-driver.ts";
import { newHome } from "./acp-subjects.ts";
import { writtenBy } from "./commits.ts";
import type { Size } from "./gateway.ts";
import type { Report } from "./goals.ts";
import { median, quantile } from "./measure.ts";
import { folder } from "./subjects.ts";

const STREAMING = fileURLToPath(new URL("./acp-streaming.ts", import.meta.url));
const fixed = (value: number, digits = 0): string => value.toFixed(digits);

interface Streamed {
  /** From when the agent said a piece to when the editor has it. */
  readonly late: readonly number[];
  readonly total: number;
  readonly commits: number;
  readonly bytes: number;
}

/** What storing first costs while an answer grows. */
export async function streams(report: Report, { quick }: Size): Promise<void> {
  const count = 2000;
  report.heading(`An answer in ${count.toLocaleString("en")} pieces`);
  const rows: string[][] = [];
  for (const everyMs of [0, 5]) {
    const pace = everyMs === 0 ? "as fast as it can" : `one every ${everyMs} ms`;
    const [bare, whole]: [Streamed[], Streamed[]] = [[], []];
    for (let round = 0; round < (quick ? 1 : 3); round += 1) {
      bare.push(await streamed("bare", count, everyMs));
      whole.push(await streamed("postrider", count, everyMs));
    }
    const figures = (all: readonly Streamed[]): [p50: number, p99: number, total: number] => [
      median(all.map(({ late }) => quantile(late, 0.5))),
      median(all.map(({ late }) => quantile(late, 0.99))),
      median(all.map(({ total }) => total)),
    ];
    const [alone, with_] = [figures(bare), figures(whole)];
    for (const [name, [p50, p99, total]] of [
      ["the protocol's library alone", alone],
      ["postrider acp", with_],
    ] as const)
      rows.push([
        `${name}, ${pace}`,
        fixed(p50, 1),
        fixed(p99, 1),
        fixed(total),
        fixed((total * 1000) / count),
      ]);
    const commits = median(whole.map((one) => one.commits));
    if (everyMs === 0) {
      const each = ((with_[2] - alone[2]) * 1000) / count;
      report.goal("added to each piece, µs, as fast as it can", each, { atMost: 100 });
      report.goal("commits of the whole answer, as fast as it can", commits, { atMost: 20 });
      continue;
    }
    report.goal(`a piece later than the library alone shows it, ms, p50, ${pace}`, with_[0] - alone[0], {
      atMost: 40,
    });
    report.goal(`the same, p99, ${pace}`, with_[1] - alone[1], { atMost: 100 });
    const seconds = with_[2] / 1000;
    report.goal(`commits per second of the answer, ${pace}`, commits / seconds, { atMost: 26 });
    const bytes = median(whole.map((one) => one.bytes));
    report.note(
      `bytes written to the log for the answer's ${fixed((count * 16) / 1000)} kB, ${pace}: ${fixed(bytes / 1000)} kB`,
    );
  }
  report.note("");
  report.table(["", "late p50 ms", "late p99 ms", "the answer, ms", "µs per piece"], rows);
}

/** One answer, whose pieces carry the time at which the agent said them. */
async function streamed(subject: "bare" | "postrider", count: number, everyMs: number): Promise<Streamed> {
  const home = newHome();
  const driver = drive([STREAMING, subject, String(count), String(everyMs)], { POSTRIDER_HOME: home });
  await initialized(driver);
  const session = await newSession(driver, folder);
  const late: number[] = [];
  driver.heard = ({ sessionUpdate, content }) => {
    if (sessionUpdate !== "agent_message_chunk") return;
    const now = process.hrtime.bigint();
    late.push(Number(now - BigInt((content?.text ?? "").trim())) / 1e6);
  };
  let total = 0;
  const work = async (): Promise<void> => {
    const before = performance.now();
    await ask(driver, session, "go");
    total = performance.now() - before;
  };
  if (subject === "bare") await work();
  const written =
    subject === "bare" ? { commits: 0, bytes: 0 } : await writtenBy(join(home, "postrider.db"), work);
  await driver.end();
  if (late.length < count) throw new Error(`only ${late.length} pieces arrived`);
  return { late: late.slice(-count), total, ...written };
}
