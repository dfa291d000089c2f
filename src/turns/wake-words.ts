import { type NewMessage, text } from "../core/message.ts";
import { SYSTEM } from "../core/owner.ts";
import type { Process } from "../core/process.ts";
import { wakeText } from "../core/process-news.ts";
import type { Store } from "../ports/store.ts";
import type { Printed } from "./process-output.ts";

/** Nobody has said it: it is the end of a program, told to the agent as if somebody had. */
export function wakeMessage(process: Process, output: Printed): NewMessage {
  return {
    role: "user",
    parts: [text(wakeText(process, output.text))],
    origin: { platform: process.target.platform, proactive: true },
  };
}

/** Why the agent does not answer to the end of a program where it is told. */
export async function whyNotWoken(store: Store, { session }: Process): Promise<string> {
  const found = await store.find({ asker: SYSTEM, text: session });
  const handle = found.find(({ id }) => id === session)?.handle;
  if (handle === undefined) return "The session that it ran for is gone.";
  return `It ran for \`${handle}\`, which is not the session here any more, so the agent does not answer to it: /resume ${handle}`;
}
