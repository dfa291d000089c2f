import { buildMemoryPrompt, getProfileMemoryOwner, type MemoryOwner } from "../core/memory.ts";
import type { Store } from "../ports/store.ts";

/** What the model is told of what it remembers: of whoever it talks with here, and for everyone. */
export async function loadMemoryPrompt({
  store,
  owner,
  profile,
}: {
  readonly store: Store;
  readonly owner: MemoryOwner;
  readonly profile: string;
}): Promise<string | undefined> {
  const owners = [owner, getProfileMemoryOwner(profile)];
  return buildMemoryPrompt(await Promise.all(owners.map((one) => store.memory.getMemory({ owner: one }))));
}
