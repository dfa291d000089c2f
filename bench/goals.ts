/** Goals are printed as met or missed; a bench never fails a build, because machines differ. */
export class Report {
  readonly #lines: string[] = [];
  #missed = 0;

  heading(text: string): void {
    this.#print(`\n### ${text}\n`);
  }

  table(columns: readonly string[], rows: readonly (readonly string[])[]): void {
    const line = (cells: readonly string[]): string => `| ${cells.join(" | ")} |`;
    this.#print([line(columns), line(columns.map(() => "---")), ...rows.map(line)].join("\n"));
  }

  note(text: string): void {
    this.#print(text);
  }

  goal(what: string, value: number, bound: { readonly atLeast: number } | { readonly atMost: number }): void {
    const met = "atLeast" in bound ? value >= bound.atLeast : value <= bound.atMost;
    if (!met) this.#missed += 1;
    const wanted = "atLeast" in bound ? `≥ ${bound.atLeast}` : `≤ ${bound.atMost}`;
    this.#print(`- ${met ? "met" : "MISSED"}: ${what}: ${value.toFixed(2)} (goal ${wanted})`);
  }

  end(): string {
    this.#print(`\n${this.#missed === 0 ? "All goals met." : `${this.#missed} goals missed.`}`);
    return this.#lines.join("\n");
  }

  #print(text: string): void {
    this.#lines.push(text);
    process.stdout.write(`${text}\n`);
  }
}
