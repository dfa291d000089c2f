/** Conditions on a sessions row called `s`: who may see it. */
export const VISIBLE_CONDITIONS = {
  everyone: "true",
  person: "s.owner = ?",
  chat: "s.audience = ? and s.owner in (?, ?)",
} as const;
