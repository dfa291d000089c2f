import type { PostriderError } from "../core/errors.ts";

/** The exit code of a process whose database was removed, replaced or moved while it ran. */
export const STORE_LOST_EXIT_CODE = 6;

/** For `onLost` of a store: reports it and exits, because a process that cannot store must not acknowledge or send. */
export function exitOnLostStore(tell: (text: string) => void): (error: PostriderError) => void {
  return ({ message }) => {
    tell(message);
    process.exit(STORE_LOST_EXIT_CODE);
  };
}
