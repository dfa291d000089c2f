import type { InboundRecord } from "../core/diagnostics.ts";
import type { NewMessage } from "../core/message.ts";
import type { Asker } from "../core/owner.ts";
import type {
  Accept,
  AcceptCommand,
  Accepted,
  InboundEdit,
  InboundEditOutcome,
  OrphanedCommand,
  PlatformCursor,
} from "../core/turn.ts";
import type { Now, SessionRequest } from "./store-request.ts";

/** Inbound messages and commands, from acceptance to their turn. */
export interface InboxStore {
  /**
   * Stores the message in the inbox, once per message id, and moves the cursor. Starts the turn if the session is free and
   * `claim` is set.
   */
  accept(input: Accept): Promise<Accepted>;
  /** Does the same for several messages in their order, in one commit. */
  acceptMany(input: { readonly messages: readonly Accept[] }): Promise<readonly Accepted[]>;
  /** Records that the platform's stream was read up to here and that nothing before it remains to be stored. */
  moveCursor(input: { readonly cursor: PlatformCursor } & Now): Promise<void>;
  /** Stores a line that needs no turn, once per message id, and moves the cursor. Changes nothing else. */
  acceptCommand(input: AcceptCommand): Promise<{ readonly duplicate: boolean; readonly inbox: number }>;
  /** Changes or removes a pending message. If its turn has started, only records the edit. Moves the cursor in both cases. */
  editInbound(input: InboundEdit): Promise<InboundEditOutcome>;
  /** Cancels the pending messages of a conversation and returns them. */
  cancelPending(input: { readonly conversation: number } & Now): Promise<readonly NewMessage[]>;
  /** Pending messages of the session, in order. */
  listPending(input: SessionRequest): Promise<readonly NewMessage[]>;
  /** Inbox records of one message, by its seq in a session or by its id on the platform; one for each profile. */
  findInbound(input: InboundQuery): Promise<readonly InboundRecord[]>;
  /** The stored position in the platform's stream. */
  getCursor(input: { readonly name: string }): Promise<string | undefined>;
  /** Commands that a runner accepted and did not answer before it ended, in order. */
  listOrphanedCommands(input: {
    readonly platform: string;
    readonly now: number;
  }): Promise<readonly OrphanedCommand[]>;
}

export type InboundQuery = { readonly asker: Asker } & (
  | { readonly session: string; readonly seq: number }
  | { readonly platform: string; readonly chatId: string; readonly messageId: string }
);
