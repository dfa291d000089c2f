import type {
  AccessRole,
  AccountName,
  AccountRole,
  Grant,
  GuessAttempt,
  GuessResult,
  Pairing,
  PairingRequest,
  PairingRequestResult,
} from "../core/access.ts";
import type { Approval, ApprovalAnswer, ApprovalRequest, ApprovalRule } from "../core/approval.ts";
import type { Asker, PersonId } from "../core/owner.ts";
import type { PersonData, PersonName } from "../core/person.ts";
import type { Refused } from "../core/refusal.ts";
import type { Maybe, Now } from "./store-request.ts";

/** Access of people to Postrider, and the approval requests of agents. */
export interface AccessStore {
  /**
   * Erases one bounded part of a person's data. Their own sessions are deleted, also from the forks of others; their messages
   * in shared sessions, and the answers to them, lose their text but keep their seq. The caller repeats the call with the
   * returned `after` until `done`; then no row names the person. An erasure that was interrupted can start again from the top.
   */
  erasePerson(input: ErasePerson): Maybe<ErasureProgress>;
  /** Returns all data of a person except their own sessions, and the totals. `undefined` if nobody has this name. */
  readPersonData(input: PersonName): Promise<PersonData | undefined>;
  /** Stores the hash of a new code. `too_soon`, and nothing is stored, if the account requested one within `everyMs`. */
  requestPairing(input: PairingRequest): Promise<PairingRequestResult>;
  /** Counts a guess before the caller compares it. After `maxGuesses`, guesses of this name are denied for `lockMs`. */
  countGuess(input: GuessAttempt): Promise<GuessResult>;
  /** Resets the count of this name, after a correct guess. */
  clearGuesses(input: { readonly name: string }): Promise<void>;
  /** Uses up the code: its requester becomes a member, or `account` is linked to the code's person. */
  redeemPairing(
    input: { readonly pairing: number; readonly account?: AccountName } & Now,
  ): Promise<{ readonly person: PersonId; readonly account: AccountName } | Refused>;
  /**
   * Links the account to `person`, or to a new person without a role. If it was its former person's only account, their
   * sessions, conversations, role and approval rules move too, and a title that is taken gets the next number of its lineage.
   * Otherwise, for the owner's account, and without `person`, the former person keeps all of it and the account's chats
   * continue in new sessions. Refused while a turn runs in one of these conversations.
   */
  linkAccount(
    input: { readonly account: AccountName; readonly person?: PersonId } & Now,
  ): Promise<AccountRole | Refused>;
  /** Sets or removes the person's role. False, and nothing changes, for the owner and for an unknown person. */
  setRole(
    input: { readonly person: PersonId; readonly role: Exclude<AccessRole, "owner"> | undefined } & Now,
  ): Promise<boolean>;
  /**
   * Stores the agent's request before it is shown. Refused under an old fence. The approver is the conversation's person; in
   * a shared conversation the sender of the turn's last input, or the owner if that sender is unknown. If an earlier attempt
   * of the turn made the same request and it has not expired, that row is returned, with its deadline and its answer.
   */
  createApproval(
    input: {
      readonly turn: number;
      readonly fence: number;
      readonly request: ApprovalRequest;
      readonly deadline: number;
    } & Now,
  ): Promise<Approval | Refused>;
  /**
   * Stores the approver's answer, once. `session` and `always` also store a rule for the request's pattern in its folder,
   * `never` one for the pattern in every folder; the last of `always` and `never` counts. Refused with `not_allowed` for
   * anybody else and for a second answer (the details hold the first one), with `expired` after the deadline.
   */
  answerApproval(
    input: {
      readonly person: PersonId;
      readonly approval: number;
      readonly answer: ApprovalAnswer | "expired";
    } & Now,
  ): Promise<Approval | Refused>;
  /** Moves the deadline of an open request, after the system clock was set. Does nothing once it is answered. */
  moveApprovalDeadline(input: { readonly approval: number; readonly deadline: number }): Promise<void>;
  /**
   * Removes the person's rule for this pattern: the rule of `session`, or else the one for all sessions; the rule of
   * `folder`, or else the one without a folder. False if there is none.
   */
  removeApprovalRule(
    input: {
      readonly person: PersonId;
      readonly pattern: string;
      readonly folder?: string;
      readonly session?: string;
    } & Now,
  ): Promise<boolean>;
  getAccount(input: AccountName): Promise<AccountRole | undefined>;
  listGrants(): Promise<readonly Grant[]>;
  /** Codes that are neither used nor expired, oldest first. */
  listPairings(input: { readonly platform?: string } & Now): Promise<readonly Pairing[]>;
  /** Open requests that this person may answer, in one conversation or in all, oldest first. */
  listApprovals(input: {
    readonly person: PersonId;
    readonly conversation?: number;
  }): Promise<readonly Approval[]>;
  getApproval(input: { readonly asker: Asker; readonly approval: number }): Promise<Approval | undefined>;
  /**
   * The person's rule for this pattern: `never` if they stored one for any folder, else `allowed` if they allowed it for the
   * session or always in exactly this folder (or without a folder, if none is given).
   */
  checkApprovalRules(input: {
    readonly person: PersonId;
    readonly session: string;
    readonly pattern: string;
    readonly folder?: string;
  }): Promise<"allowed" | "never" | undefined>;
  /** All rules of the person, oldest first. */
  listApprovalRules(input: { readonly person: PersonId }): Promise<readonly ApprovalRule[]>;
}

export interface ErasePerson {
  readonly person: string;
  /** The `after` of the previous step. */
  readonly after?: number;
  /** The maximum number of messages that one step changes. */
  readonly limit: number;
  readonly now: number;
}

export interface ErasureProgress {
  readonly done: boolean;
  readonly after?: number;
}
