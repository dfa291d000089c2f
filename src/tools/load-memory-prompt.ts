import { buildMemoryPrompt, getProfileMemoryOwner, type MemoryOwner } from "../core/memory.ts";
import type { Store } from "../ports/store.ts";

/** Loads the memory part of the prompt: of the person or chat, and of the profile. */
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
