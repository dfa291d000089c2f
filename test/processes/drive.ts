import { createSessions, OWNER, sqliteStore } from "../../src/index.ts";
import { startChild } from "../support/child.ts";
import { look } from "../support/database.ts";
import { instant } from "../support/numbers.ts";
import type { Answer, Listened, Order, Worked } from "./child.ts";
import { END, SHARED_SESSIONS, sharedSession } from "./shared.ts";

export interface ProcessesReport {
  readonly operations: number;
  readonly lost: string[];
  readonly doubled: string[];
  readonly errors: string[];
  /** Milliseconds from an acknowledgement in one process to its arrival in another. */
  readonly delays: number[];
  /** How often the listener was called. */
  readonly calls: number;
  /** Accepted messages that arrived at more than one process. */
  readonly contested: number;
}

/** Several processes write to one file at the same time; another one follows their messages. */
export async function driveProcesses(plan: {
  readonly file: string;
  readonly processes: number;
  readonly seconds: number;
}): Promise<ProcessesReport> {
  const { file } = plan;
  const who = { person: OWNER };
  const store = await sqliteStore({ file, mode: "in-process" });
  const sessions = createSessions({ store });
  for (let n = 0; n < SHARED_SESSIONS; n += 1) await sessions.create(who, { id: sharedSession(n) });

  const program = new URL("./child.ts", import.meta.url);
  const writers = Array.from({ length: plan.processes }, (_, n) => startChild(program, [file, `p${n}`]));
  const listener = startChild(program, [file, "listener"]);
  const all = [...writers, listener];
  try {
    await Promise.all(all.map((child) => child.heard<Answer>(({ said }) => said === "ready")));
    const from = instant() + 100;
    const order: Order = { from, until: from + plan.seconds * 1000 };
    for (const writer of writers) writer.tell(order);
    const worked = await Promise.all(
      writers.map((child) => child.heard<Answer & Worked>(({ said }) => said === "worked")),
    );
    await sessions.append(who, sharedSession(0), { role: "note", text: END });
    const listened = await listener.heard<Answer & Listened>(({ said }) => said === "listened");
    const ends = await Promise.all(all.map(({ ended }) => ended));
    await store.close();
    const report = compare(file, worked, listened);
    for (const { code, signal } of ends)
      if (code !== 0) report.errors.push(`a process ended with ${code ?? signal}`);
    return report;
  } finally {
    for (const { process } of all) process.kill("SIGKILL");
  }
}

function compare(file: string, worked: readonly Worked[], listened: Listened): ProcessesReport {
  const lost: string[] = [];
  const doubled: string[] = [];
  const errors = worked.flatMap((one) => one.errors);
  const stored = look(file, (db) => ({
    // Session and text, in order.
    messages: db
      .prepare("select s.id, m.text from messages m join sessions s on s.n = m.id >> 24 order by m.id")
      .raw()
      .all() as [string, string][],
    chats: new Map(
      db
        .prepare(
          "select c.chat_id, s.id from conversations c join sessions s on s.n = c.session where c.chat_id like 'chat-%'",
        )
        .raw()
        .all() as [string, string][],
    ),
    conversations: Number(db.prepare("select count(*) from conversations").pluck().get()),
    inbox: db.prepare("select message_id, state from inbox").raw().all() as [string, number][],
    running: Number(db.prepare("select count(*) from turns where state = 'running'").pluck().get()),
    integrity: String(db.pragma("integrity_check", { simple: true })),
  }));
  if (stored.integrity !== "ok") errors.push(`integrity_check: ${stored.integrity}`);

  // Appended: each once, the texts of one call consecutive.
  const places = new Map<string, number>();
  stored.messages.forEach(([session, text], place) => {
    const name = `${session}: ${text}`;
    if (places.has(name)) doubled.push(name);
    places.set(name, place);
  });
  for (const [session, ...texts] of worked.flatMap((one) => one.appended)) {
    const found = texts.map((text) => places.get(`${session}: ${text}`));
    if (found.includes(undefined)) lost.push(`${session}: ${texts.join(", ")}`);
    else if (found.some((place, at) => place !== (found[0] ?? 0) + at)) {
      errors.push(`${session}: ${texts.join(", ")} are not side by side`);
    }
  }
  const answers = worked.flatMap((one) => one.answered);
  const texts = new Set(stored.messages.map(([, text]) => text));
  for (const answer of answers) if (!texts.has(answer)) lost.push(answer);

  // Opened: one conversation and one session per chat, the same for all.
  const chats = Math.max(...worked.map((one) => one.opened.length));
  for (let n = 0; n < chats; n += 1) {
    const seen = new Set(worked.flatMap((one) => one.opened[n] ?? []));
    const kept = stored.chats.get(`chat-${n}`);
    if (kept === undefined) lost.push(`chat-${n}`);
    else if (seen.size !== 1 || !seen.has(kept)) doubled.push(`chat-${n}: ${[...seen].join()}, kept ${kept}`);
  }
  if (stored.chats.size > chats) errors.push(`${stored.chats.size} chats were kept, ${chats} were opened`);

  // Accepted: new for exactly one process, answered, and nothing is pending.
  const messages = Math.max(...worked.map((one) => one.accepted.length));
  const inbox = new Map(stored.inbox);
  let contested = 0;
  for (let n = 0; n < messages; n += 1) {
    const news = worked.flatMap((one) => one.accepted[n] ?? []);
    if (news.length > 1) contested += 1;
    const times = news.filter((isNew) => isNew).length;
    if (times > 1) doubled.push(`message ${n} was new ${times} times`);
    if (times === 0 || !inbox.has(`message ${n}`)) lost.push(`message ${n}`);
  }
  for (const [message, state] of inbox) if (state !== 2) lost.push(`${message} was never answered`);
  if (stored.running > 0) errors.push(`${stored.running} turns still run`);

  const acknowledged = new Map(worked.flatMap((one) => one.acknowledged));
  const seen = new Map(listened.seen);
  const delays: number[] = [];
  for (const [text, at] of acknowledged) {
    const arrived = seen.get(text);
    if (arrived === undefined) lost.push(`${text} never reached the listener`);
    else delays.push(Math.max(0, arrived - at));
  }
  if (seen.size !== listened.seen.length) doubled.push("the listener heard something twice");
  const operations = worked.reduce((sum, one) => sum + one.operations, 0);
  return { operations, lost, doubled, errors, delays, calls: listened.calls, contested };
}
