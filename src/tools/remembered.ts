import { type MemoryOwner, memoryOfProfile, memoryPrompt } from "../core/memory.ts";
import type { Store } from "../ports/store.ts";

/** What the model is told of what it remembers: of whoever it talks with here, and for everyone. */
export async function rememberedPrompt({
  store,
  owner,
  profile,
}: {
  readonly store: Store;
  readonly owner: MemoryOwner;
  readonly profile: string;
}): Promise<string | undefined> {
  const owners = [owner, memoryOfProfile(profile)];
  return memoryPrompt(await Promise.all(owners.map((one) => store.memory({ owner: one }))));
}
