export type { Buttons, Delivery } from "../core/delivery.ts";
export { PostriderError } from "../core/errors.ts";
export { type NewMessage, type Part, textPart } from "../core/message.ts";
export { type PlatformTraits, platformTraits } from "../core/platforms.ts";
export { type Source, type SourceInput, source } from "../core/source.ts";
export { splitText } from "../core/split-text.ts";
export type { Blob, PlatformCursor } from "../core/turn.ts";
export { type FormattedText, toHtml } from "../platforms/telegram/format.ts";
export type { Log } from "../ports/log.ts";
export type {
  FailureCause,
  Inbound,
  MenuEntry,
  Outbound,
  Platform,
  Receiver,
  SendOutcome,
} from "../ports/platform.ts";
