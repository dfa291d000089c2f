/** The result of a check. `todo` says what to do; `fixable` that Postrider can do it itself. */
export interface Finding {
  readonly check: string;
  readonly state: "ok" | "warning" | "problem";
  readonly text: string;
  readonly todo?: string;
  readonly fixable?: boolean;
}

export function reportOk(check: string, text: string): Finding {
  return { check, state: "ok", text };
}

export function reportWarning(check: string, text: string, todo: string): Finding {
  return { check, state: "warning", text, todo };
}

export function reportProblem(check: string, text: string, todo: string): Finding {
  return { check, state: "problem", text, todo };
}

/** A problem in derived data, which can be restored. */
export function reportFixable(check: string, text: string): Finding {
  return { check, state: "problem", text, todo: "postrider doctor --fix repairs it.", fixable: true };
}

/** `3 sessions`, `1 session`. */
export function formatCount(number: number, one: string, many = `${one}s`): string {
  return `${number} ${number === 1 ? one : many}`;
}
