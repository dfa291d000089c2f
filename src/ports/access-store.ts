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

/** Who may use Postrider, and who answers an agent's approval requests. */
export interface AccessStore {
  /**
   * A bounded part of a person is gone: own sessions whole, also where forks of others show them; what they said
   * elsewhere, and the answers to it, has no words any more but keeps its place. Called again, with the `after` that
   * it gave, until `done`: then nothing names them. Cut short and begun anew, it comes to the same.
   */
  erasePerson(input: ErasePerson): Maybe<ErasureProgress>;
  /** Everything of a person but their own sessions; and how much there is in all. */
  readPersonData(input: PersonName): Promise<PersonData | undefined>;
  /** A code is stored by its hash. Whoever asks again in time gets none. */
  requestPairing(input: PairingRequest): Promise<PairingRequestResult>;
  /** Whoever guesses too often is locked out. Counted before it is compared; `clearGuesses` after the right one. */
  countGuess(input: GuessAttempt): Promise<GuessResult>;
  clearGuesses(input: { readonly name: string }): Promise<void>;
  /** The code is used: whoever asked is a member, or the account belongs to the code's person. */
  redeemPairing(
    input: { readonly pairing: number; readonly account?: AccountName } & Now,
  ): Promise<{ readonly person: PersonId; readonly account: AccountName } | Refused>;
  /**
   * The account belongs to the person from now on. If no other account belonged to its former person, their sessions
   * and conversations move along, with their role and what they have allowed; a title that is taken gets its lineage's
   * next number. Else, and always when it was the owner's, the former person keeps all that, and the account's chats go
   * on in new sessions; so it is, too, without a person: then it belongs to a stranger. Refused while an answer is written
   * there.
   */
  linkAccount(
    input: { readonly account: AccountName; readonly person?: PersonId } & Now,
  ): Promise<AccountRole | Refused>;
  /** The person has the role, or none any more. The owner's cannot be taken. */
  setRole(
    input: { readonly person: PersonId; readonly role: Exclude<AccessRole, "owner"> | undefined } & Now,
  ): Promise<boolean>;
  /**
   * The agent's question is a row before anybody is asked. Refused under an old fence. The conversation's person may
   * answer; where several share it, whoever sent the turn's last input; the owner, if that one has no name. What an earlier
   * attempt of the turn has asked in the same words is taken up once more, with its deadline, and with its answer if there
   * is one; unless it has expired.
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
   * Answered once, in time, by the one who may. `session` and `always` are kept for the request's pattern in the request's
   * folder, `never` for the pattern in every folder; of always and never, what was said last counts. Refused: to
   * anyone else and the second time, then with the first `answer` in the details, `not_allowed`; too late, `expired`.
   */
  answerApproval(
    input: {
      readonly person: PersonId;
      readonly approval: number;
      readonly answer: ApprovalAnswer | "expired";
    } & Now,
  ): Promise<Approval | Refused>;
  /** An open question can be answered until then: the system clock was set, and its old deadline is wrong by that. */
  moveApprovalDeadline(input: { readonly approval: number; readonly deadline: number }): Promise<void>;
  /**
   * What the person said of this pattern counts no more: in this session, or everywhere; in this folder, or for what has
   * none. False if nothing was said.
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
  /** Codes that are still good, oldest first. */
  listPairings(input: { readonly platform?: string } & Now): Promise<readonly Pairing[]>;
  /** What waits for an answer, oldest first, of a person; in one conversation, or anywhere. */
  listApprovals(input: {
    readonly person: PersonId;
    readonly conversation?: number;
  }): Promise<readonly Approval[]>;
  getApproval(input: { readonly asker: Asker; readonly approval: number }): Promise<Approval | undefined>;
  /**
   * What the person has said of this before, for the session or always, in this very folder, or for what has none. A never
   * of any folder counts before any yes.
   */
  checkApprovalRules(input: {
    readonly person: PersonId;
    readonly session: string;
    readonly pattern: string;
    readonly folder?: string;
  }): Promise<"allowed" | "never" | undefined>;
  /** Everything that the person has allowed or refused for good, oldest first. */
  listApprovalRules(input: { readonly person: PersonId }): Promise<readonly ApprovalRule[]>;
}

export interface ErasePerson {
  readonly person: string;
  /** What the step before has given. */
  readonly after?: number;
  /** How many messages one step may touch. */
  readonly limit: number;
  readonly now: number;
}

export interface ErasureProgress {
  readonly done: boolean;
  readonly after?: number;
}
