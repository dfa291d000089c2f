/** One step of an agent's plan. */
export interface PlanEntry {
  readonly text: string;
  readonly state: "pending" | "in_progress" | "completed";
}
