import { chatsIn, gatewayOn } from "./gateway-subjects.ts";
import { atOnce, median } from "./measure.ts";
import { text } from "./subjects.ts";

export interface IdleMemory {
  /** Bytes that the main thread holds when nothing is under way, at the end. */
  readonly held: number;
  /** By how much that has grown for each conversation: the median over parts of them. */
  readonly each: number;
}

/** What is loaded and compiled once is let go of in these, and is not the conversations'. */
const WARM_UPS = 2;
const PARTS = 5;
/** Longer than any timer of a turn that has ended. */
const QUIET_MS = 1500;

/** A gateway in which so many people have said something, were answered, and are silent. Prints what it holds. */
const [conversations = ""] = process.argv.slice(2);
const part = Number(conversations) / PARTS;
const whole = await gatewayOn(await chatsIn(0));
let chat = 0;
let last = 0;
const grown: number[] = [];
for (let at = -WARM_UPS; at < PARTS; at += 1) {
  await atOnce(64, at < 0 ? 1000 : part, () => whole.say(chat, text(chat++)));
  const now = await held();
  if (at >= 0) grown.push((now - last) / part);
  last = now;
}
process.stdout.write(JSON.stringify({ held: last, each: median(grown) } satisfies IdleMemory));
await whole.close();

async function held(): Promise<number> {
  const collect = globalThis.gc;
  if (collect === undefined) throw new Error("needs --expose-gc");
  await new Promise((resolve) => setTimeout(resolve, QUIET_MS));
  for (let times = 0; times < 10; times += 1) {
    collect();
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}
