/** Formats text as a code block. The fence is longer than any run of backticks in the text, so nothing can close it early. */
export function fenceCode(text: string, language = ""): string {
  let longest = 2;
  for (const [run] of text.matchAll(/`+/g)) longest = Math.max(longest, run.length);
  const fence = "`".repeat(longest + 1);
  return `${fence}${language}\n${text}\n${fence}`;
}
