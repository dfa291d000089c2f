/** What a model of which nothing is known reads: most read this much today, and a summary too early only costs words. */
const DEFAULT_WINDOW = 128_000;

/**
 * How many tokens well-known families read, where it is not the default; the first that fits. Rather too small than too
 * large: where a family has grown, the configuration can say so.
 */
const WINDOWS: readonly (readonly [RegExp, number])[] = [
  [/^claude-(instant|v?2\.0)/, 100_000],
  [/^claude/, 200_000],
  [/^gpt-3\.5/, 16_385],
  [/^gpt-4(-\d{4}(-preview)?)?$/, 8_192],
  [/^gpt-4\.1/, 1_000_000],
  [/^gpt-5(\.\d+)?-chat/, 128_000],
  [/^gpt-5/, 272_000],
  [/^o[134](-|$)/, 200_000],
  [/^gemini/, 1_000_000],
  [/^grok-4/, 256_000],
  [/^llama-?3(-|:|$)/, 8_192],
  [/^mixtral-8x7b/, 32_768],
];

/** The tokens that a model reads at once, by its name as providers write it: `anthropic/claude-…` is a claude, too. */
export function findModelWindow(model: string): number {
  const name = model.toLowerCase().replace(/^.*\//, "");
  return WINDOWS.find(([family]) => family.test(name))?.[1] ?? DEFAULT_WINDOW;
}
