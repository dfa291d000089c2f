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

/** How much there is of a person. */
export interface PersonCounts {
  readonly accounts: number;
  /** Their own sessions, and the messages in them. */
  readonly sessions: number;
  readonly messages: number;
  /** What they said in sessions that belong to a chat or to someone else. */
  readonly elsewhere: number;
  readonly attachments: number;
  readonly conversations: number;
  readonly decisions: number;
  readonly inbox: number;
  readonly turns: number;
  readonly deliveries: number;
  /** Programs that ran for them. */
  readonly processes: number;
  readonly pairings: number;
  readonly approvals: number;
  readonly allowed: number;
  /** What is remembered of them. */
  readonly memories: number;
}

/** What a person may do here, what they were asked, and what they have allowed. */
export interface PersonAccess {
  readonly role?: AccessRole;
  /** Codes that they asked for, or that link to them. */
  readonly pairings: readonly {
    readonly platform: string;
    readonly asker?: Source;
    readonly askedAt: number;
    readonly expiresAt: number;
  }[];
  readonly approvals: readonly Approval[];
  /** In one session, or everywhere, and in one folder, where the pattern has one; or never. */
  readonly allowed: readonly {
    readonly pattern: string;
    readonly folder?: string;
    readonly session?: string;
    readonly never?: true;
    readonly at: number;
  }[];
}

/** Everything of a person but their own sessions, which are read as sessions are. */
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
  /** What is remembered of them now, everywhere or in one chat with others. */
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
  /** Only while it waits: then it is in the session. */
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
  /** Absent for what belongs to none. */
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
  /** The last of what it has printed. */
  readonly output: string;
}

/** Whether a source, or what a message says of its origin, names one of these accounts. */
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

/** A source with nothing of who spoke. */
export function stripSender({ userId: _, userName: _n, userIdAlt: _a, ...place }: Source): Source {
  return place;
}
