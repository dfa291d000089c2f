/** The shared constants of all processes. */
export const SHARED_SESSIONS = 4;
export const ACCEPTING_CHATS = 8;
/** The last text in the first shared session. */
export const END = "the end";

export function sharedSession(n: number): string {
  return `shared-${n}`;
}
