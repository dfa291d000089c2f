import type { Claim, Finish, Finished, MessageDraft, SaveDraftInput, Turn } from "../core/turn.ts";
import type { Maybe, Now, SessionRequest } from "./store-request.ts";

/** Turns: runs of the agent, each for one or more inbound messages. */
export interface TurnStore {
  /**
   * Claims the session for one runner and starts or takes over its turn. `undefined` while another live runner holds it, or if
   * nothing is pending. Editor messages (platform `acp`) stay with the live runner that accepted them: only it can reach the
   * editor.
   */
  claim(input: Claim): Promise<Turn | undefined>;
  /** Saves the incomplete message of an answer, until its complete message is stored. Refused under an old fence. */
  saveDraft(input: SaveDraftInput): Maybe<{ readonly kept: true }>;
  /**
   * Ends the turn in one commit: stores messages, usage and deliveries, marks the inputs as done, frees the session and, with
   * `next`, claims the next turn. Refused under an old fence.
   */
  finish(input: Finish): Maybe<Finished>;
  /** Asks the runner of a conversation's running turn, wherever it is, to stop the turn. False if no turn runs there. */
  requestStop(input: { readonly conversation: number } & Now): Promise<boolean>;
  /** Whether a turn of the session runs, in any process, or was left by a crashed one. */
  isSessionAnswering(input: { readonly session: string }): Promise<boolean>;
  /** The draft that `saveDraft` stored for the session's running turn. `undefined` between two messages. */
  getDraft(input: SessionRequest): Promise<MessageDraft | undefined>;
  /** Sessions with an unfinished turn or pending input and no live runner, and the platform of the answer. */
  listClaimable(input: Now): Promise<readonly { readonly session: string; readonly platform: string }[]>;
}
