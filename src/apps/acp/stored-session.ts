import type { Session } from "../../core/session.ts";
import { type Editor, who } from "./editor.ts";

/** The person's session of exactly this id. */
export async function storedSession({ store }: Editor, id: string): Promise<Session | undefined> {
  const found = await store.find({ asker: who, text: id });
  return found.find((session) => session.id === id);
}
