import type { AccessStore } from "./access-store.ts";
import type { ConversationStore } from "./conversation-store.ts";
import type { InboxStore } from "./inbox-store.ts";
import type { MemoryStore } from "./memory-store.ts";
import type { MessageStore } from "./message-store.ts";
import type { OutboxStore } from "./outbox-store.ts";
import type { ProcessStore } from "./process-store.ts";
import type { RunnerStore } from "./runner-store.ts";
import type { SessionStore } from "./session-store.ts";
import type { TurnStore } from "./turn-store.ts";
import type { UpkeepStore } from "./upkeep-store.ts";

/**
 * Everything durable. Each writing method is atomic: when its promise resolves, all of it is stored; when it rejects, nothing
 * happened. A denied request returns a refusal and throws nothing. Reads never wait for a writer.
 */
export interface Store {
  readonly conversations: ConversationStore;
  readonly sessions: SessionStore;
  readonly messages: MessageStore;
  readonly inbox: InboxStore;
  readonly turns: TurnStore;
  readonly outbox: OutboxStore;
  readonly access: AccessStore;
  readonly processes: ProcessStore;
  readonly memory: MemoryStore;
  readonly runners: RunnerStore;
  readonly upkeep: UpkeepStore;
  /** Calls the listener after each commit, here or by another process (within 250 ms). Returns a function that stops it. */
  onChange(listener: () => void): () => void;
  /** Waits for calls in progress, then closes every connection. */
  close(): Promise<void>;
}
