/** A count with its noun: `1 message`, `1,234 messages`. */
export function pluralize(count: number, one: string, many = `${one}s`): string {
  return `${count.toLocaleString("en-US")} ${count === 1 ? one : many}`;
}
