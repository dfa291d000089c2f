export type {
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
export type { Approval, ApprovalAnswer, ApprovalRequest, ApprovalRule } from "../core/approval.ts";
export type {
  Conversation,
  Expire,
  Expired,
  IdleConversation,
  Open,
  Opened,
  PolicyDecision,
  SettingsChange,
} from "../core/conversation.ts";
export type { Delivery, Enqueue, Settle, SettledDelivery } from "../core/delivery.ts";
export type { ConversationDetails, Diagnostics, InboundRecord } from "../core/diagnostics.ts";
export type { ScopeRules } from "../core/identity.ts";
export type { Insights } from "../core/insights.ts";
export type {
  ConversationQuery,
  CurrentConversation,
  HistoryQuery,
  Hit,
  ListedSession,
  ListQuery,
  MessageRangeQuery,
  Page,
  SearchRequest,
  Stats,
  ViewVersion,
} from "../core/listing.ts";
export type { Flush, Memory, MemoryChange, MemoryOwner } from "../core/memory.ts";
export type { Message, NewMessage } from "../core/message.ts";
export type { Asker, PersonId } from "../core/owner.ts";
export type { PersonData, PersonName } from "../core/person.ts";
export type { Exit, NewProcess, Process, ProcessOutput, ProcessReport } from "../core/process.ts";
export type { Refused } from "../core/refusal.ts";
export type { HeldLease, Runner } from "../core/runner.ts";
export type { ForkedSession, NewSession, Session, SessionChange } from "../core/session.ts";
export type { HomeChannel } from "../core/session-context.ts";
export type { Source } from "../core/source.ts";
export type { ImportedMessages, ImportedSession } from "../core/transfer.ts";
export type {
  Accept,
  AcceptCommand,
  Accepted,
  BeginDraft,
  Blob,
  Claim,
  ClaimBy,
  DraftOutcome,
  Finish,
  Finished,
  InboundEdit,
  InboundEditOutcome,
  MessageDraft,
  OrphanedCommand,
  PlatformCursor,
  ResetNotification,
  SaveDraftInput,
  Turn,
} from "../core/turn.ts";
export type { UsageDelta, UsageEntry, UsagePurpose } from "../core/usage.ts";
export type { ViewChange, ViewChangeResult } from "../core/view-change.ts";
export type { AccessStore, ErasePerson, ErasureProgress } from "../ports/access-store.ts";
export type { Attach, ConversationStore } from "../ports/conversation-store.ts";
export type { InboundQuery, InboxStore } from "../ports/inbox-store.ts";
export type { MemoryStore } from "../ports/memory-store.ts";
export type { Append, MessageStore, ViewRanges } from "../ports/message-store.ts";
export type { OutboxStore } from "../ports/outbox-store.ts";
export type {
  BeginProcess,
  ProcessOutputChunk,
  ProcessQuery,
  ProcessStore,
  WakeRequest,
  WakeResult,
} from "../ports/process-store.ts";
export type { RunnerStore } from "../ports/runner-store.ts";
export type { NewTitle, Prune, RecordUsage, SessionStore } from "../ports/session-store.ts";
export type { Store } from "../ports/store.ts";
export type { Maybe, Now, SessionRequest } from "../ports/store-request.ts";
export type { TurnStore } from "../ports/turn-store.ts";
export type { UpkeepStore } from "../ports/upkeep-store.ts";
