import type { AccessRole } from "./access.ts";
import type { Approval } from "./approval.ts";
import type { InboundState } from "./diagnostics.ts";
import type { Message, NewMessage, Part } from "./message.ts";
import type { PersonId } from "./owner.ts";
import type { Source } from "./source.ts";

/** A person by id, or by one of their accounts. */
export type PersonName =
  | { readonly person: PersonId }
  | { readonly platform: string; readonly account: string };

/** One id on one platform. */
export interface PersonAccount {
  readonly platform: string;
  readonly id?: string;
  readonly altId?: string;
  readonly name?: string;
  readonly createdAt: number;
}

/** Totals of a person's data. */
export interface PersonCounts {
  readonly accounts: number;
  /** Their own sessions, and the messages in them. */
  readonly sessions: number;
  readonly messages: number;
  /** Their messages in sessions of a chat or of another person. */
  readonly elsewhere: number;
  readonly attachments: number;
  readonly conversations: number;
  readonly decisions: number;
  readonly inbox: number;
  readonly turns: number;
  readonly deliveries: number;
  /** Processes that ran for them. */
  readonly processes: number;
  readonly pairings: number;
  readonly approvals: number;
  readonly allowed: number;
  /** Entries in their memory. */
  readonly memories: number;
}

/** A person's role, pairing codes, approval requests and approval rules. */
export interface PersonAccess {
  readonly role?: AccessRole;
  /** Codes that they requested, or that link an account to them. */
  readonly pairings: readonly {
    readonly platform: string;
    readonly asker?: Source;
    readonly askedAt: number;
    readonly expiresAt: number;
  }[];
  readonly approvals: readonly Approval[];
  /** Approval rules: for one session or all, and for one folder if the pattern has one. */
  readonly allowed: readonly {
    readonly pattern: string;
    readonly folder?: string;
    readonly session?: string;
    readonly never?: true;
    readonly at: number;
  }[];
}

/** All data of a person except their own sessions. */
export interface PersonData extends PersonAccess {
  readonly person: PersonId;
  readonly name?: string;
  readonly createdAt: number;
  readonly accounts: readonly PersonAccount[];
  readonly counts: PersonCounts;
  readonly elsewhere: readonly Message[];
  readonly conversations: readonly PersonConversation[];
  readonly decisions: readonly {
    readonly conversation: number;
    readonly at: number;
    readonly decision: string;
  }[];
  readonly inbox: readonly PersonInbox[];
  readonly turns: readonly PersonTurn[];
  readonly deliveries: readonly PersonDelivery[];
  readonly processes: readonly PersonProcess[];
  /** Entries of their memory, general or of one shared chat. */
  readonly memories: readonly { readonly text: string; readonly chat?: string }[];
}

export interface PersonConversation {
  readonly number: number;
  readonly platform: string;
  readonly chatType: string;
  readonly chatId: string;
  readonly threadId?: string;
  readonly session: string;
  readonly activeAt: number;
}

export interface PersonInbox {
  readonly platform: string;
  readonly chatId: string;
  readonly messageId: string;
  readonly at: number;
  readonly state: InboundState;
  /** Only while it is pending. Later the session contains it. */
  readonly message?: NewMessage;
}

export interface PersonTurn {
  readonly session: string;
  readonly state: string;
  readonly startedAt: number;
  readonly endedAt?: number;
  readonly target: Source;
}

export interface PersonDelivery {
  /** Absent for a delivery without a session. */
  readonly session?: string;
  readonly state: string;
  readonly createdAt: number;
  readonly target: Source;
  readonly parts: readonly Part[];
}

export interface PersonProcess {
  readonly id: string;
  readonly session: string;
  readonly state: string;
  readonly begunAt: number;
  readonly endedAt?: number;
  readonly command: string;
  readonly cwd: string;
  readonly target: Source;
  /** The end of its output. */
  readonly output: string;
}

/** Whether a source or a message's origin belongs to one of these accounts. */
export function isSentBy(
  accounts: readonly Pick<PersonAccount, "platform" | "id" | "altId">[],
  from: { readonly platform?: string; readonly userId?: string; readonly userIdAlt?: string } | undefined,
): boolean {
  if (from === undefined) return false;
  const ids = [from.userId, from.userIdAlt].filter((id) => id !== undefined);
  return accounts.some(
    ({ platform, id, altId }) => platform === from.platform && ids.some((one) => one === id || one === altId),
  );
}

/** The source without its sender. */
export function stripSender({ userId: _, userName: _n, userIdAlt: _a, ...place }: Source): Source {
  return place;
}
