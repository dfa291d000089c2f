export type { Approval, ApprovalAnswer, ApprovalRequest, ApprovalRule } from "./core/approval.ts";
export { contextPrompt } from "./core/context-prompt.ts";
export type {
  Conversation,
  FreshStart,
  Open,
  Opened,
  PolicyDecision,
  Routing,
} from "./core/conversation.ts";
export type { Delivery, DeliveryState, NewDelivery, Settle } from "./core/delivery.ts";
export { type ErrorCode, PostriderError } from "./core/errors.ts";
export {
  buildIdentity,
  type Identity,
  type ScopeRules,
  type ScopeSettings,
  scopeFor,
} from "./core/identity.ts";
export { messageToJson, sessionContextToJson, sessionToJson } from "./core/json.ts";
export { parseKey, sessionKey } from "./core/key.ts";
export type {
  ConversationQuery,
  CurrentConversation,
  Hit,
  ListedSession,
  ListQuery,
  Page,
  SearchRequest,
  Stats,
  ViewVersion,
} from "./core/listing.ts";
export {
  applyMemoryChange,
  type Flush,
  getMemoryOwner,
  type Memory,
  type MemoryChange,
  type MemoryOwner,
} from "./core/memory.ts";
export {
  getText,
  MAX_PART_BYTES,
  type Message,
  type NewMessage,
  type Part,
  type Role,
  type ToolCall,
} from "./core/message.ts";
export {
  type Asker,
  canSee,
  getChatAudience,
  OWNER,
  type PersonId,
} from "./core/owner.ts";
export { type PlatformTraits, platformTraits } from "./core/platforms.ts";
export {
  type Exit,
  KEPT_OUTPUT,
  type NewProcess,
  type Process,
  type ProcessOutput,
  type ProcessReport,
  type ProcessState,
  type Watch,
} from "./core/process.ts";
export { providerHistory } from "./core/projection.ts";
export { isRefused, type Refused, throwIfRefused } from "./core/refusal.ts";
export { nextReset } from "./core/reset-instants.ts";
export { firstMessageNote, resetNote, resetNotice } from "./core/reset-notice.ts";
export {
  DEFAULT_RESET_POLICY,
  NO_RESET,
  type ResetPolicy,
  type ResetSettings,
  resetReason,
  resetSettingsFromJson,
} from "./core/reset-policy.ts";
export type { Runner } from "./core/runner.ts";
export type { EndReason, NewSession, Session, SessionChange, SessionKind } from "./core/session.ts";
export {
  buildSessionContext,
  type ContextConfig,
  type HomeChannel,
  type SessionContext,
} from "./core/session-context.ts";
export {
  describeSource,
  localSource,
  type Source,
  type SourceInput,
  source,
  sourceFromJson,
  sourceToJson,
} from "./core/source.ts";
export type { Accept, Accepted, Blob, Claim, Finish, Finished, Turn, TurnOutcome } from "./core/turn.ts";
export {
  addUsage,
  emptyUsage,
  type Usage,
  type UsageDelta,
  type UsageEntry,
  type UsagePurpose,
} from "./core/usage.ts";
export type { ViewChangeResult } from "./core/view-change.ts";
export type { Clock } from "./ports/clock.ts";
export type { ViewRanges } from "./ports/message-store.ts";
export type {
  BeginProcess,
  ProcessOutputChunk,
  ProcessQuery,
  WakeRequest,
  WakeResult,
} from "./ports/process-store.ts";
export type { Store } from "./ports/store.ts";
export {
  type EditorListed,
  type EditorOptions,
  type EditorSession,
  type EditorSessions,
  editorSessions,
} from "./sessions/editor-sessions.ts";
export type { SessionExport } from "./sessions/export.ts";
export type { FollowOptions } from "./sessions/follow.ts";
export type { DataPart, MessageInput } from "./sessions/message-input.ts";
export {
  buildRouting,
  DEFAULT_RESET,
  type RoutingOptions,
  type RoutingSettings,
} from "./sessions/routing.ts";
export {
  type CreateOptions,
  createSessions,
  type OpenOptions,
  type PruneOptions,
  type Sessions,
  type SessionsOptions,
} from "./sessions/sessions.ts";
export type { EditorCreate } from "./sessions/stored-editor-sessions.ts";
export { type SqliteOptions, sqliteStore } from "./stores/sqlite/store.ts";
export { localRunner } from "./system/local-runner.ts";
export { systemClock, systemZone } from "./system/system-clock.ts";
