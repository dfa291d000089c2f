/** The capabilities and limits of a platform. */
export interface PlatformTraits {
  /** The name for people. */
  readonly label: string;
  /** Whether `redact_pii: true` hides ids here, because an id is or reveals a phone number. */
  readonly redactable: boolean;
  /** Whether the model needs real ids to mention people. Such ids are never masked in chats of this platform. */
  readonly rawIdsForMentions: boolean;
  /** The maximum length of a message in UTF-16 units. */
  readonly messageLimit: number;
  /** Whether an answer can be sent into a thread or topic of a chat. */
  readonly threads: boolean;
  /** How to get a message that arrived but was not stored because of a crash. */
  readonly inbound: "redelivers" | "can_be_asked_again" | "gone";
  /** How to learn whether a message was sent, after a crash before its outcome was stored. */
  readonly outbound: "idempotent" | "can_be_looked_up" | "unknowable";
}

/** The platform of editors. A thread is one session, and only the process that the editor started can reach it. */
export const EDITOR_PLATFORM = "acp";

/** The traits of a platform. An unknown name gets the safest values. */
export function platformTraits(name: string): PlatformTraits {
  return KNOWN.get(name) ?? { ...UNKNOWN, label: titleCase(name) };
}

/** Platforms in the table. Any other lower-case name can be a platform too. */
export function listKnownPlatforms(): readonly string[] {
  return [...KNOWN.keys()];
}

/** For streams and files, which are not split into messages. */
const UNLIMITED: number = Number.MAX_SAFE_INTEGER;

/** Redactable, so that a custom platform reveals no ids. Short messages, because a split text is better than a rejected one. */
const UNKNOWN: PlatformTraits = {
  label: "",
  redactable: true,
  rawIdsForMentions: false,
  messageLimit: 2000,
  threads: false,
  inbound: "gone",
  outbound: "unknowable",
};

/** Common values of the known platforms. Each entry overrides some. */
const PLAIN: Omit<PlatformTraits, "label"> = {
  redactable: false,
  rawIdsForMentions: false,
  messageLimit: 4096,
  threads: false,
  inbound: "gone",
  outbound: "unknowable",
};

/** Clients that read the session's event stream from a cursor, so nothing is repeated. */
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
  // Telegram keeps updates until a later offset confirms them. A bot cannot read its own messages.
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
      // Discord remembers a nonce for minutes only, and an outage may last longer. The channel's history stays.
      outbound: "can_be_looked_up",
    },
  ],
  [
    "slack",
    {
      ...PLAIN,
      label: "Slack",
      rawIdsForMentions: true,
      // Slack splits longer texts itself, also in the middle of code blocks.
      messageLimit: 4000,
      threads: true,
      // Slack delivers an unacknowledged envelope again.
      inbound: "redelivers",
      outbound: "can_be_looked_up",
    },
  ],
  ["whatsapp", { ...PLAIN, label: "WhatsApp", redactable: true, inbound: "redelivers" }],
  // The daemon acknowledges a message before Postrider gets it. Longer texts become attachments.
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
      // An event of 64 KiB contains the text twice, plain and formatted, with up to three bytes for each unit.
      messageLimit: 8000,
      threads: true,
      inbound: "can_be_asked_again",
      // The transaction id in the URL makes a repeated request the same event.
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
  // The limit is 20,000 bytes, and a Chinese character has three.
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
