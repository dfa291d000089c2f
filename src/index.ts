export type { Approval, ApprovalAnswer, ApprovalRequest, Standing } from "./core/approval.ts";
export { contextPrompt } from "./core/context-prompt.ts";
export type { Conversation, Fresh, Open, Opened, PolicyDecision, Routing } from "./core/conversation.ts";
export type { Delivery, DeliveryState, NewDelivery, Settle } from "./core/delivery.ts";
export { type ErrorCode, PostriderError } from "./core/errors.ts";
export { firstMessageNote, resetNote, resetNotice } from "./core/fresh-words.ts";
export { type Identity, identityOf, type ScopeRules, type ScopeSettings, scopeFor } from "./core/identity.ts";
export { messageToJson, sessionContextToJson, sessionToJson } from "./core/json.ts";
export { parseKey, sessionKey } from "./core/key.ts";
export type {
  ConversationQuery,
  CurrentConversation,
  Hit,
  Listed,
  ListQuery,
  Page,
  SearchRequest,
  Stats,
  Versions,
} from "./core/listing.ts";
export {
  changedMemory,
  type Flush,
  type Memory,
  type MemoryChange,
  type MemoryOwner,
  memoryOwnerOf,
} from "./core/memory.ts";
export {
  MAX_PART_BYTES,
  type Message,
  type NewMessage,
  type Part,
  type Role,
  type ToolCall,
  textOf,
} from "./core/message.ts";
export { type Asker, chatOf, maySee, OWNER, type PersonId } from "./core/owner.ts";
export { type PlatformTraits, platformTraits } from "./core/platforms.ts";
export {
  type Exit,
  KEPT_OUTPUT,
  type NewProcess,
  type Process,
  type ProcessOutput,
  type ProcessState,
  type TellProcess,
  type Watch,
} from "./core/process.ts";
export { providerHistory } from "./core/projection.ts";
export { isRefused, type Refused, unrefused } from "./core/refusal.ts";
export { nextReset } from "./core/reset-instants.ts";
export {
  DEFAULT_RESET_POLICY,
  NO_RESET,
  type ResetPolicy,
  type ResetSettings,
  resetReason,
  resetSettingsFromJson,
} from "./core/reset-policy.ts";
export type { Reshaped } from "./core/reshape.ts";
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
export type { Clock } from "./ports/clock.ts";
export type { BeginProcess, KeepOutput, ProcessesAsked, Wake, Woken } from "./ports/processes.ts";
export type { Shape, Store } from "./ports/store.ts";
export {
  type EditorCreate,
  type EditorListed,
  type EditorOptions,
  type EditorSession,
  type EditorSessions,
  editorSessions,
} from "./sessions/editor-sessions.ts";
export type { SessionExport } from "./sessions/export.ts";
export type { FollowOptions } from "./sessions/follow.ts";
export type { DataPart, MessageInput } from "./sessions/message-input.ts";
export { DEFAULT_RESET, type RoutingOptions, type RoutingSettings, routingOf } from "./sessions/routing.ts";
export {
  type CreateOptions,
  createSessions,
  type OpenOptions,
  type PruneOptions,
  type Sessions,
  type SessionsOptions,
} from "./sessions/sessions.ts";
export { type SqliteOptions, sqliteStore } from "./stores/sqlite/store.ts";
export { localRunner } from "./system/local-runner.ts";
export { systemClock, systemZone } from "./system/system-clock.ts";
