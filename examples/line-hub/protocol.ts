/** A message of a person, from the hub. */
export interface HubMessage {
  readonly id: string;
  readonly chat: string;
  readonly type: "dm" | "group";
  readonly user: string;
  readonly text: string;
  readonly at: number;
}

/** What the hub is asked. */
export type HubRequest = { readonly listen: string } | { readonly ack: string } | { readonly send: HubSend };

/** A message of the bot. The hub takes each nonce once. */
export interface HubSend {
  readonly token: string;
  readonly chat: string;
  readonly nonce: string;
  readonly replyTo?: string;
  readonly text: string;
}

/** Its one line of answer. */
export type HubAnswer =
  | { readonly ok: true }
  | { readonly sent: string }
  /** It does not want it, and would not later. */
  | { readonly refused: string }
  | { readonly wait: number }
  /** This message cannot be taken now. */
  | { readonly error: string }
  | { readonly busy: true };
