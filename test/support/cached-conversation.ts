import { spawn } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { temporaryFolder } from "./folder.ts";
import { type Reply, startModelServer } from "./model-endpoint.ts";

const BIN = fileURLToPath(new URL("../../bin/postrider.mjs", import.meta.url));

/** One request of a conversation, compared with the request before it. */
export interface CachedRequest {
  /** Counted from 1. */
  readonly turn: number;
  readonly characters: number;
  /** The share of the request that equals the start of the previous one; 0 for the first. */
  readonly share: number;
}

/**
 * Runs a conversation with the real CLI in a pipe, with its tools and prompts: in every turn the model calls tools, then
 * answers. Half of the turns run in a second process, so state in memory does not help.
 */
export async function runCachedConversation(turns: number): Promise<readonly CachedRequest[]> {
  const folder = temporaryFolder();
  const server = await startModelServer(...repliesFor(turns));
  try {
    const here = join(folder.path, "here");
    mkdirSync(here);
    for (let turn = 1; turn <= turns; turn += 1)
      writeFileSync(join(here, `notes-${turn}.txt`), `Notes of day ${turn}: the lease was renewed.\n`);
    const environment = { POSTRIDER_HOME: join(folder.path, "home"), POSTRIDER_BASE_URL: server.url };
    const lines = Array.from({ length: turns }, (_, at) => `What do the notes of day ${at + 1} say?`);
    const half = Math.ceil(turns / 2);
    for (const part of [lines.slice(0, half), lines.slice(half)]) await pipe(part, here, environment);
    return server.requests.map(({ body }, at) => {
      const before = server.requests[at - 1];
      const text = inCacheOrder(body);
      const share = before === undefined ? 0 : commonPrefix(text, inCacheOrder(before.body)) / text.length;
      return { turn: Math.floor(at / 2) + 1, characters: text.length, share };
    });
  } finally {
    server.close();
    folder.remove();
  }
}

/** Two requests for each turn: the first calls two tools, the second answers. */
function repliesFor(turns: number): readonly Reply[] {
  return Array.from({ length: turns }, (_, at): readonly Reply[] => {
    const given = JSON.stringify({ path: `notes-${at + 1}.txt` });
    const search = JSON.stringify({ query: `notes of day ${at + 1}` });
    return [
      {
        think: "I have to look.",
        say: ["I look. "],
        calls: [
          { id: "call_0", name: "read_file", arguments: given },
          { id: "call_1", name: "session_search", arguments: search },
        ],
      },
      { say: [`On day ${at + 1} `, "the lease was renewed."] },
    ];
  }).flat();
}

/** Providers read the tools first, then the system text, then the messages; the system text is the first message here. */
function inCacheOrder({ tools, messages }: { readonly tools?: unknown; readonly messages: unknown }): string {
  return JSON.stringify([tools, messages]);
}

export function commonPrefix(one: string, other: string): number {
  let at = 0;
  while (at < one.length && one[at] === other[at]) at += 1;
  return at;
}

async function pipe(
  lines: readonly string[],
  cwd: string,
  environment: Readonly<Record<string, string>>,
): Promise<void> {
  const child = spawn(process.execPath, [BIN], {
    cwd,
    env: { PATH: process.env.PATH, HOME: cwd, POSTRIDER_MODEL: "tiny", ...environment },
  });
  let err = "";
  child.stdout.resume();
  child.stderr.on("data", (data) => {
    err += data;
  });
  child.stdin.end(`${lines.join("\n")}\n`);
  const code = await new Promise((resolve) => child.on("close", resolve));
  if (code !== 0) throw new Error(`postrider ended with ${code}: ${err}`);
}
