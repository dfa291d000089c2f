/** Where a running program says what it does. Fields are for programs, the words for people; neither holds a secret. */
export interface Log {
  debug(fields: LogFields, words: string): void;
  info(fields: LogFields, words: string): void;
  warn(fields: LogFields, words: string): void;
  error(fields: LogFields, words: string): void;
}

export type LogFields = Readonly<Record<string, unknown>>;
