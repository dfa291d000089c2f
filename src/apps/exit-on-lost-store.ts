import type { PostriderError } from "../core/errors.ts";

/** The exit code of a program whose database was removed, replaced or moved while it ran. */
export const STORE_LOST_EXIT_CODE = 6;

/**
 * For `onLost` of a store: says what happened and ends the program at once. A program that cannot store anything must
 * neither acknowledge nor send; the next one continues with the file that the sentence names.
 */
export function exitOnLostStore(tell: (text: string) => void): (error: PostriderError) => void {
  return ({ message }) => {
    tell(message);
    process.exit(STORE_LOST_EXIT_CODE);
  };
}
