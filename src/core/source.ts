/** Where a message came from. Absent fields are absent, never empty strings. */
export interface Source {
  /** Lower-case platform name; an open set. See `platforms.ts` for what is known of each. */
  readonly platform: string;
  readonly chatId: string;
  readonly chatName?: string;
  /** dm, group, channel, thread, forum, webhook; free beyond these. */
  readonly chatType: string;
  readonly userId?: string;
  readonly userName?: string;
  readonly threadId?: string;
  readonly chatTopic?: string;
  /** The sender's second id, such as Signal's UUID beside the phone number. */
  readonly userIdAlt?: string;
  readonly chatIdAlt?: string;
}
