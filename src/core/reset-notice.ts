/** The note for the model in the first turn after an automatic reset. */
export function resetNote(reason: "idle" | "daily"): string {
  const why =
    reason === "idle"
      ? "there had been no activity for a long time"
      : "conversations here start over every day at a set hour";
  return (
    `[Note: the previous conversation was closed because ${why}. ` +
    "This is a fresh conversation without any of its context; do not assume that you remember it.]"
  );
}

/** The note for the model with the first message that this home receives. */
export function firstMessageNote(): string {
  return (
    "[Note: nobody has talked to you here before. Start by introducing yourself in one or two sentences, " +
    "and mention that /help lists the commands.]"
  );
}

export interface ResetNotice {
  readonly reason: "idle" | "daily";
  readonly idleMinutes: number;
  readonly atHour: number;
  /** The handle of the previous session. */
  readonly handle: string;
}

/** The notice for the person after an automatic reset. The command to go back is on its own line, to be copied. */
export function resetNotice({ reason, idleMinutes, atHour, handle }: ResetNotice): string {
  const why =
    reason === "idle" ? `inactive for ${formatMinutes(idleMinutes)}` : `daily schedule at ${atHour}:00`;
  return [
    `This conversation starts fresh (${why}).`,
    "Nothing was deleted. To go on where you left off:",
    `/resume ${handle}`,
  ].join("\n");
}

/** 24h, 1h 30m, 45m. */
function formatMinutes(totalMinutes: number): string {
  const rounded = Math.max(1, Math.round(totalMinutes));
  const hours = Math.floor(rounded / 60);
  const minutes = rounded % 60;
  return [hours > 0 ? `${hours}h` : "", minutes > 0 ? `${minutes}m` : ""].filter(Boolean).join(" ");
}
