/** The window of an unknown model: most have at least this, and a summary that is too early only costs text. */
const DEFAULT_WINDOW = 128_000;

/**
 * The context windows of well-known families that differ from the default; the first match counts. Rather too small than
 * too large: the configuration can set a larger one.
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

/** The context window of a model, by its name as providers write it: `anthropic/claude-…` is a claude, too. */
export function findModelWindow(model: string): number {
  const name = model.toLowerCase().replace(/^.*\//, "");
  return WINDOWS.find(([family]) => family.test(name))?.[1] ?? DEFAULT_WINDOW;
}
