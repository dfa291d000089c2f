/** One thing that an agent means to do, as it stands. */
export interface PlanEntry {
  readonly text: string;
  readonly state: "pending" | "in_progress" | "completed";
}
