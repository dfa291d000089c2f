/** The day on which this table was compared with the providers' price lists. */
export const PRICES_AS_OF = "2026-11-17";

/** USD for a million tokens. Output includes reasoning; input excludes cached tokens. */
export interface Price {
  readonly input: number;
  readonly output: number;
  readonly cacheRead: number;
  readonly cacheWrite: number;
  /** Factors for a whole request whose prompt is longer than `above`. */
  readonly long?: { readonly above: number; readonly input: number; readonly output: number };
}

export interface PricedTokens {
  readonly inputTokens?: number;
  readonly outputTokens?: number;
  readonly cacheReadTokens?: number;
  readonly cacheWriteTokens?: number;
}

interface ListedPrice extends Price {
  readonly provider: "anthropic" | "openai";
  /** Matched against the model's name without its date. */
  readonly model: RegExp;
  /** The first day of this price, if the table also has an earlier one. */
  readonly from?: string;
}

const OPENAI_LONG = { above: 272_000, input: 2, output: 1.5 };

/** The first match counts. For a model with several prices, the newest comes first. */
const PRICES: readonly ListedPrice[] = [
  anthropicPrice(/^claude-fable-5-1$/, 10, 50, { cacheRead: 0.25 }),
  anthropicPrice(/^claude-fable-5$/, 10, 50),
  anthropicPrice(/^claude-opus-5-5$/, 4, 20, { cacheRead: 0.2 }),
  anthropicPrice(/^claude-opus-(5|4-[5-8])$/, 5, 25),
  anthropicPrice(/^claude-(opus-4(-[01])?|3-opus)$/, 15, 75),
  anthropicPrice(/^claude-sonnet-5-5$/, 2, 10, { cacheRead: 0.1, from: "2026-10-07" }),
  anthropicPrice(/^claude-sonnet-5(-5)?$/, 2, 10),
  anthropicPrice(/^claude-(sonnet-4(-[056])?|3-[57]-sonnet)$/, 3, 15),
  anthropicPrice(/^claude-haiku-5-5$/, 0.1, 0.5, { long: { above: 100_000, input: 5, output: 5 } }),
  anthropicPrice(/^claude-haiku-4-5$/, 1, 5),
  anthropicPrice(/^claude-3-5-haiku$/, 0.8, 4),
  anthropicPrice(/^claude-3-haiku$/, 0.25, 1.25, { cacheRead: 0.03, cacheWrite: 0.3 }),
  openaiPrice(/^gpt-6\.1-sol$/, 2, 10, 0.1, { cacheWrite: 2.5, long: OPENAI_LONG }),
  openaiPrice(/^gpt-6-sol$/, 2, 10, 0.2, { cacheWrite: 2.5, long: OPENAI_LONG }),
  openaiPrice(/^gpt-6-luna$/, 0.1, 0.5, 0.01, { cacheWrite: 0.125, long: OPENAI_LONG }),
  openaiPrice(/^gpt-5\.5$/, 5, 30, 0.5, { long: OPENAI_LONG }),
  openaiPrice(/^gpt-5\.4$/, 2.5, 15, 0.25, { long: OPENAI_LONG }),
  openaiPrice(/^gpt-5\.4-mini$/, 0.75, 4.5, 0.075),
  openaiPrice(/^gpt-5\.4-nano$/, 0.2, 1.25, 0.02),
  openaiPrice(/^gpt-5\.[23](-codex|-chat-latest)?$/, 1.75, 14, 0.175),
  openaiPrice(/^gpt-5(\.1)?(-codex|-chat-latest)?$/, 1.25, 10, 0.125),
  openaiPrice(/^gpt-5-mini$/, 0.25, 2, 0.025),
  openaiPrice(/^gpt-5-nano$/, 0.05, 0.4, 0.005),
  openaiPrice(/^gpt-4\.1$/, 2, 8, 0.5),
  openaiPrice(/^gpt-4\.1-mini$/, 0.4, 1.6, 0.1),
  openaiPrice(/^gpt-4\.1-nano$/, 0.1, 0.4, 0.025),
  openaiPrice(/^gpt-4o$/, 2.5, 10, 1.25),
  openaiPrice(/^gpt-4o-mini$/, 0.15, 0.6, 0.075),
  openaiPrice(/^o3$/, 2, 8, 0.5, { from: "2025-06-10" }),
  openaiPrice(/^o3$/, 10, 40, 2.5),
  openaiPrice(/^o4-mini$/, 1.1, 4.4, 0.275),
  openaiPrice(/^o3-mini$/, 1.1, 4.4, 0.55),
  openaiPrice(/^o1$/, 15, 60, 7.5),
];

/** The price of this model on that day, if the table has it. */
export function findPrice(provider: string, model: string, at: number): Price | undefined {
  const name = model.toLowerCase().replace(/(-\d{4}-?\d{2}-?\d{2}|-latest|@\d{8})$/, "");
  const listed = PRICES.filter(
    (one) => one.provider === provider && (one.model.test(name) || one.model.test(model)),
  );
  return listed.find(({ from }) => from === undefined || Date.parse(from) <= at);
}

/** The price of one request. */
export function priceRequest(price: Price, used: PricedTokens): number {
  const { inputTokens = 0, outputTokens = 0, cacheReadTokens = 0, cacheWriteTokens = 0 } = used;
  const isLong =
    price.long !== undefined && inputTokens + cacheReadTokens + cacheWriteTokens > price.long.above;
  const factor = isLong && price.long !== undefined ? price.long : { input: 1, output: 1 };
  const prompt =
    inputTokens * price.input + cacheReadTokens * price.cacheRead + cacheWriteTokens * price.cacheWrite;
  return (prompt * factor.input + outputTokens * price.output * factor.output) / 1_000_000;
}

/** Default: cached input costs 0.1 of the input price, writing the cache for five minutes 1.25. */
function anthropicPrice(
  model: RegExp,
  input: number,
  output: number,
  more: Partial<Price> & Pick<ListedPrice, "from"> = {},
): ListedPrice {
  return {
    provider: "anthropic",
    model,
    input,
    output,
    cacheRead: input / 10,
    cacheWrite: input * 1.25,
    ...more,
  };
}

/** Default: writing the cache costs the same as other input. */
function openaiPrice(
  model: RegExp,
  input: number,
  output: number,
  cacheRead: number,
  more: Partial<Price> & Pick<ListedPrice, "from"> = {},
): ListedPrice {
  return { provider: "openai", model, input, output, cacheRead, cacheWrite: input, ...more };
}
