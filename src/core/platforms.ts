/** What Postrider may count on at a platform. */
export interface PlatformTraits {
  /** How people write its name. */
  readonly label: string;
  /** Whether `redact_pii: true` hides ids here: where an id is, or leads to, a phone number. */
  readonly redactable: boolean;
  /** Whether the model needs real ids to mention people, so that they are never masked in its own chats. */
  readonly rawIdsForMentions: boolean;
  /** The longest text that one message can carry, in UTF-16 units. */
  readonly messageLimit: number;
  /** Whether an answer can be sent into a thread or topic of a chat. */
  readonly threads: boolean;
  /** What becomes of a message that arrived and was not stored because we fell. */
  readonly inbound: "redelivers" | "can_be_asked_again" | "gone";
  /** What can be known of a message that was sent when we fell before noting it. */
  readonly outbound: "idempotent" | "can_be_looked_up" | "unknowable";
}

/** The platform of editors: a thread is one session, and only the process that an editor has started can reach it. */
export const EDITOR_PLATFORM = "acp";

/** What is known of a platform; for an unknown name the values that promise least and hide most. */
export function platformTraits(name: string): PlatformTraits {
  return KNOWN.get(name) ?? { ...UNKNOWN, label: titleCase(name) };
}

/** The names in the table. Any other lower-case name may be a platform too. */
export function listKnownPlatforms(): readonly string[] {
  return [...KNOWN.keys()];
}

/** Read as a stream or written as a file: there is no message to split. */
const UNLIMITED: number = Number.MAX_SAFE_INTEGER;

/**
 * Redactable, because whoever asks for redaction means it, also where the platform is somebody's own. Short
 * messages, because text that is refused is worse than text in two parts.
 */
const UNKNOWN: PlatformTraits = {
  label: "",
  redactable: true,
  rawIdsForMentions: false,
  messageLimit: 2000,
  threads: false,
  inbound: "gone",
  outbound: "unknowable",
};

/** What most known platforms have in common; each entry says where it differs. */
const PLAIN: Omit<PlatformTraits, "label"> = {
  redactable: false,
  rawIdsForMentions: false,
  messageLimit: 4096,
  threads: false,
  inbound: "gone",
  outbound: "unknowable",
};

/** Readers of the session's event stream: reading it again from a cursor repeats nothing. */
const READER: Omit<PlatformTraits, "label"> = {
  ...PLAIN,
  messageLimit: UNLIMITED,
  outbound: "idempotent",
};

const KNOWN: ReadonlyMap<string, PlatformTraits> = new Map<string, PlatformTraits>([
  ["local", { ...READER, label: "Local" }],
  ["web", { ...READER, label: "Web" }],
  [EDITOR_PLATFORM, { ...READER, label: "Editor (ACP)" }],
  ["api_server", { ...READER, label: "API server" }],
  // Updates stay with Telegram until a later offset confirms them; a bot cannot read what it has sent.
  ["telegram", { ...PLAIN, label: "Telegram", redactable: true, threads: true, inbound: "redelivers" }],
  [
    "discord",
    {
      ...PLAIN,
      label: "Discord",
      rawIdsForMentions: true,
      messageLimit: 2000,
      threads: true,
      inbound: "can_be_asked_again",
      // A nonce is honoured for some minutes only, less than an outage may last; the channel's history is not.
      outbound: "can_be_looked_up",
    },
  ],
  [
    "slack",
    {
      ...PLAIN,
      label: "Slack",
      rawIdsForMentions: true,
      // Longer texts are accepted and split by Slack itself, through the middle of code blocks.
      messageLimit: 4000,
      threads: true,
      // An envelope that is not acknowledged comes again.
      inbound: "redelivers",
      outbound: "can_be_looked_up",
    },
  ],
  ["whatsapp", { ...PLAIN, label: "WhatsApp", redactable: true, inbound: "redelivers" }],
  // The daemon confirms a message to the server before we have it; longer bodies become attachments.
  ["signal", { ...PLAIN, label: "Signal", redactable: true, messageLimit: 2000 }],
  [
    "mattermost",
    {
      ...PLAIN,
      label: "Mattermost",
      messageLimit: 16_383,
      threads: true,
      inbound: "can_be_asked_again",
      outbound: "can_be_looked_up",
    },
  ],
  [
    "matrix",
    {
      ...PLAIN,
      label: "Matrix",
      // An event holds 64 KiB with the text in it twice, plain and formatted, at up to three bytes a unit.
      messageLimit: 8000,
      threads: true,
      inbound: "can_be_asked_again",
      // The transaction id in the address makes a repeated send the same event.
      outbound: "idempotent",
    },
  ],
  ["email", { ...PLAIN, label: "Email", messageLimit: UNLIMITED, inbound: "can_be_asked_again" }],
  [
    "sms",
    {
      ...PLAIN,
      label: "SMS",
      messageLimit: 1600,
      inbound: "can_be_asked_again",
      outbound: "can_be_looked_up",
    },
  ],
  // Its limit is 20,000 bytes, and a Chinese character takes three.
  ["dingtalk", { ...PLAIN, label: "DingTalk", messageLimit: 6000 }],
  ["homeassistant", { ...PLAIN, label: "Home Assistant" }],
  ["webhook", { ...PLAIN, label: "Webhook", messageLimit: UNLIMITED }],
]);

function titleCase(name: string): string {
  return name
    .split(/[_-]+/)
    .map((word) => word.slice(0, 1).toUpperCase() + word.slice(1))
    .join(" ")
    .trim();
}
