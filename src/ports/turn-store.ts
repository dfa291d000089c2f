import type { Claim, Finish, Finished, MessageDraft, SaveDraftInput, Turn } from "../core/turn.ts";
import type { Maybe, Now, SessionRequest } from "./store-request.ts";

/** One run of the agent for one or more inbound messages. */
export interface TurnStore {
  /**
   * One runner per session. `undefined` while another lives and holds it, or when nothing waits. What came from an editor
   * (platform `acp`) is left to the runner that accepted it, for as long as that one lives: it alone can reach the editor.
   */
  claim(input: Claim): Promise<Turn | undefined>;
  /** What is said of an answer before its message is whole. Only the turn's holder may; the next message replaces it. */
  saveDraft(input: SaveDraftInput): Maybe<{ readonly kept: true }>;
  /** Messages, usage, deliveries and inbox are stored, the lease is free, the next work found: all or nothing. */
  finish(input: Finish): Maybe<Finished>;
  /** What `keepSaid` has kept of the message that is being written in the session; nothing between two messages. */
  getDraft(input: SessionRequest): Promise<MessageDraft | undefined>;
  /** Sessions with a turn or with waiting input whose runner is gone, or that never had one; and where to answer. */
  listClaimable(input: Now): Promise<readonly { readonly session: string; readonly platform: string }[]>;
}
