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
  /** The message is an inbox row, once, and the cursor has moved; the turn has begun if the session was free. */
  accept(input: Accept): Promise<Accepted>;
  /** The same for messages that came one after the other: all of them are stored in their order, or none is. */
  acceptMany(input: { readonly messages: readonly Accept[] }): Promise<readonly Accepted[]>;
  /** The platform's stream was read up to here, and nothing before it is left to store. */
  moveCursor(input: { readonly cursor: PlatformCursor } & Now): Promise<void>;
  /** A line that waits for no turn is stored, once, and the cursor has moved. Nothing else is touched. */
  acceptCommand(input: AcceptCommand): Promise<{ readonly duplicate: boolean; readonly inbox: number }>;
  /** What still waits is changed or gone; what does not, stays, and the change is recorded. The cursor has moved. */
  editInbound(input: InboundEdit): Promise<InboundEditOutcome>;
  /** Waiting messages of a conversation will not run. Returns them. */
  cancelPending(input: { readonly conversation: number } & Now): Promise<readonly NewMessage[]>;
  /** What was accepted for the session and waits for its turn, in order. */
  listPending(input: SessionRequest): Promise<readonly NewMessage[]>;
  /** How a message came in, by its place in a session or by its id on the platform; each profile has its own. */
  findInbound(input: InboundQuery): Promise<readonly InboundRecord[]>;
  getCursor(input: { readonly name: string }): Promise<string | undefined>;
  /** Lines that a runner which is gone has accepted and not answered, in order. */
  listOrphanedCommands(input: {
    readonly platform: string;
    readonly now: number;
  }): Promise<readonly OrphanedCommand[]>;
}

export type InboundQuery = { readonly asker: Asker } & (
  | { readonly session: string; readonly seq: number }
  | { readonly platform: string; readonly chatId: string; readonly messageId: string }
);
