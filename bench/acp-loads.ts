import { readFileSync } from "node:fs";
import { join } from "node:path";
import { createSessions, type MessageInput, OWNER, type Store, sqliteStore } from "../src/index.ts";
import { initialized, newSession } from "./acp-driver.ts";
import { newHome, postrider } from "./acp-subjects.ts";
import type { Size } from "./gateway.ts";
import type { Report } from "./goals.ts";
import { median } from "./measure.ts";
import { folder, text } from "./subjects.ts";

const who = { person: OWNER };
const fixed = (value: number, digits = 0): string => value.toFixed(digits);

/** A long session shown anew, beside reading it from the store. */
export async function loads(report: Report, { quick }: Size): Promise<void> {
  const count = 5000;
  report.heading(`Loading a session of ${count.toLocaleString("en")} messages in an editor`);
  const home = newHome();
  const store = await sqliteStore({ file: join(home, "postrider.db"), mode: "workers" });
  const session = await longSession(store, count);
  const [first, again, read, grown, grownAgain]: number[][] = [[], [], [], [], []];
  let updates = 0;
  for (let round = -1; round < (quick ? 2 : 5); round += 1) {
    const driver = postrider(home);
    await initialized(driver);
    await newSession(driver, folder);
    const before = memory(driver.pid);
    const load = async (): Promise<number> => {
      updates = 0;
      driver.heard = () => {
        updates += 1;
      };
      const start = performance.now();
      await driver.request("session/load", { sessionId: session, cwd: folder, mcpServers: [] });
      return performance.now() - start;
    };
    const cold = await load();
    const after = memory(driver.pid);
    const warm = [await load(), await load(), await load()];
    const end = memory(driver.pid);
    await driver.end();
    const reads: number[] = [];
    for (let times = 0; times < 4; times += 1) {
      const start = performance.now();
      await store.messages.readHistory({ asker: who, session });
      reads.push(performance.now() - start);
    }
    if (round < 0) continue;
    first?.push(cold);
    again?.push(median(warm));
    read?.push(median(reads.slice(1)));
    grown?.push(after - before);
    grownAgain?.push(end - after);
  }
  await store.close();
  const [cold, warm, alone] = [first, again, read].map((times) => median(times ?? []));
  report.table(
    ["", "ms", "µs per message", "x reading it"],
    [
      ["the history read from the store", alone],
      ["session/load, first in its process", cold],
      ["session/load, again", warm],
    ].map(([name, ms]) => [
      String(name),
      fixed(Number(ms), 1),
      fixed((Number(ms) * 1000) / count, 1),
      `${fixed(Number(ms) / (alone ?? 1), 1)}×`,
    ]),
  );
  report.note(`\n${updates.toLocaleString("en")} updates are shown each time.\n`);
  report.goal(
    `loading ${count} messages, µs per message, first in its process`,
    ((cold ?? 0) * 1000) / count,
    {
      atMost: 200,
    },
  );
  report.goal("memory after the first load, MB more", median(grown ?? []) / 1e6, { atMost: 100 });
  report.goal("memory after three more, MB more", median(grownAgain ?? []) / 1e6, { atMost: 50 });
}

/** Questions, thoughts, calls with results and answers, as an agent that works leaves them. */
async function longSession(store: Store, count: number): Promise<string> {
  const sessions = createSessions({ store });
  const { id } = await sessions.create(who, {
    id: crypto.randomUUID(),
    kind: "editor",
    cwd: folder,
  });
  const four = (at: number): MessageInput[] => [
    { role: "user", text: text(at) },
    {
      role: "assistant",
      text: "Let me look.",
      reasoning: text(at + 1),
      toolCalls: [{ id: `call-${at}`, name: "read_file", arguments: { path: `src/file-${at}.ts` } }],
    },
    { role: "tool", text: text(at + 2), toolCallId: `call-${at}`, toolName: "read_file" },
    { role: "assistant", text: text(at + 3) },
  ];
  for (let at = 0; at < count; at += 500) {
    const some = Array.from({ length: 125 }, (_, n) => four(at + n * 4)).flat();
    await sessions.append(who, id, some);
  }
  return id;
}

/** Bytes that the process holds in memory; nothing where the system does not say so here. */
function memory(pid: number): number {
  try {
    const [, kilobytes] = /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, "utf8")) ?? [];
    return Number(kilobytes) * 1024;
  } catch {
    return Number.NaN;
  }
}
