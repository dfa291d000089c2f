import type { ProviderName } from "../../src/agents/model/provider.ts";

/** A response as a provider sends it when it cannot answer, and the sentence that a person gets for it. */
export interface ProviderFailure {
  readonly title: string;
  readonly provider: ProviderName;
  readonly model?: string;
  readonly status: number;
  readonly headers?: Readonly<Record<string, string>>;
  /** Text is sent as it is, anything else as JSON. */
  readonly body: unknown;
  /** `HOST` stands for the host and port of the server. */
  readonly words: string;
  readonly tooLong?: true;
}

const ANTHROPIC = { provider: "anthropic", model: "claude-x" } as const;
const OPENAI = { provider: "openai", model: "gpt-x" } as const;
const GOOGLE = { provider: "google", model: "gemini-x" } as const;
const OPENROUTER = { provider: "openrouter", model: "acme/llm" } as const;
const SERVER = { provider: "compatible", model: "llama-x" } as const;

const CHECK_ADDRESS = "Check POSTRIDER_BASE_URL or model.base_url: the address usually ends in /v1.";
const CONTEXT = "/compress shortens it, /new starts a new one.";

function anthropicError(type: string, message: string): unknown {
  return { type: "error", error: { type, message }, request_id: "req_011CSHoEeqs5C35K2UUqR7Fy" };
}

function openaiError(
  message: string,
  type: string,
  code: string | null,
  param: string | null = null,
): unknown {
  return { error: { message, type, param, code } };
}

function googleError(code: number, status: string, message: string, ...details: readonly unknown[]): unknown {
  return { error: { code, message, status, ...(details.length > 0 && { details }) } };
}

export const NGINX_404 =
  "<html>\r\n<head><title>404 Not Found</title></head>\r\n<body>\r\n<center><h1>404 Not Found</h1></center>\r\n<hr><center>nginx/1.27.0</center>\r\n</body>\r\n</html>\r\n";
const CLOUDFLARE_502 =
  '<!DOCTYPE html>\n<html class="no-js" lang="en-US"><head><title>api.example.com | 502: Bad gateway</title></head><body>The model is loading. Invalid API key.</body></html>';
const HTML = { "content-type": "text/html; charset=utf-8" };

export const PROVIDER_FAILURES: readonly ProviderFailure[] = [
  {
    ...ANTHROPIC,
    title: "a wrong key",
    status: 401,
    body: anthropicError("authentication_error", "invalid x-api-key"),
    words:
      "Anthropic at HOST did not accept the API key (401). Check ANTHROPIC_API_KEY or model.api_key and start Postrider again.",
  },
  {
    ...ANTHROPIC,
    title: "a key without the permission",
    status: 403,
    body: anthropicError(
      "permission_error",
      "Your API key does not have permission to use the specified resource.",
    ),
    words:
      "Anthropic at HOST does not allow this key to use the model claude-x (403). Choose another with /model, or change the permissions of the key.",
  },
  {
    ...ANTHROPIC,
    title: "no credit, which it tells with a 400",
    status: 400,
    body: anthropicError(
      "invalid_request_error",
      "Your credit balance is too low to access the Anthropic API. Please go to Plans & Billing to upgrade or purchase credits.",
    ),
    words:
      "Anthropic at HOST reports that the account has no credit left (400). Add credit there, or choose another model with /model.",
  },
  {
    ...ANTHROPIC,
    title: "an unknown model",
    status: 404,
    body: anthropicError("not_found_error", "model: claude-x"),
    words: "Anthropic at HOST does not know the model claude-x (404). /model chooses another.",
  },
  {
    ...ANTHROPIC,
    title: "a path that does not exist",
    status: 404,
    body: anthropicError("not_found_error", "Not found"),
    words: `Anthropic at HOST has no model API at this address (404). ${CHECK_ADDRESS}`,
  },
  {
    ...ANTHROPIC,
    title: "a rate limit with its time",
    status: 429,
    headers: {
      "retry-after": "20",
      "anthropic-ratelimit-requests-limit": "50",
      "anthropic-ratelimit-requests-remaining": "0",
      "anthropic-ratelimit-requests-reset": "2030-01-01T00:00:00Z",
    },
    body: anthropicError(
      "rate_limit_error",
      "This request would exceed your organization's rate limit of 50 requests per minute.",
    ),
    words: "The rate limit of Anthropic at HOST is reached (429). Try again in 20 s.",
  },
  {
    ...ANTHROPIC,
    title: "an overload",
    status: 529,
    body: anthropicError("overloaded_error", "Overloaded"),
    words: "Anthropic at HOST is overloaded (529). Try again in a few minutes.",
  },
  {
    ...ANTHROPIC,
    title: "an internal error",
    status: 500,
    body: anthropicError("api_error", "Internal server error"),
    words: "Anthropic at HOST has an internal error (500). Try again in a few minutes.",
  },
  {
    ...ANTHROPIC,
    title: "a conversation that is too long",
    status: 400,
    body: anthropicError("invalid_request_error", "prompt is too long: 210000 tokens > 200000 maximum"),
    words: `The conversation is too long for claude-x. ${CONTEXT}`,
    tooLong: true,
  },
  {
    ...ANTHROPIC,
    title: "a request that is too large",
    status: 413,
    body: anthropicError("request_too_large", "Request exceeds the maximum size"),
    words: `The conversation is too long for claude-x. ${CONTEXT}`,
    tooLong: true,
  },
  {
    ...ANTHROPIC,
    title: "a blocked output",
    status: 400,
    body: anthropicError("invalid_request_error", "Output blocked by content filtering policy"),
    words:
      "The content filter of Anthropic at HOST blocked this. Change the request, or choose another model with /model.",
  },
  {
    ...ANTHROPIC,
    title: "any other request that it rejects",
    status: 400,
    body: anthropicError(
      "invalid_request_error",
      "messages.1.content: text content blocks must be non-empty",
    ),
    words:
      'Anthropic at HOST rejected the request (400): "messages.1.content: text content blocks must be non-empty".',
  },
  {
    ...OPENAI,
    title: "a wrong key",
    status: 401,
    body: openaiError(
      "Incorrect API key provided: sk-very-***********cret. You can find your API key at https://platform.openai.com/account/api-keys.",
      "invalid_request_error",
      "invalid_api_key",
    ),
    words:
      "OpenAI at HOST did not accept the API key (401). Check OPENAI_API_KEY or model.api_key and start Postrider again.",
  },
  {
    ...OPENAI,
    title: "a model that the project may not use",
    status: 403,
    body: openaiError(
      "Project `proj_x` does not have access to model `gpt-x`",
      "invalid_request_error",
      "model_not_found",
    ),
    words:
      "OpenAI at HOST does not allow this key to use the model gpt-x (403). Choose another with /model, or change the permissions of the key.",
  },
  {
    ...OPENAI,
    title: "a country that it does not serve",
    status: 403,
    body: openaiError(
      "Country, region, or territory not supported",
      "request_forbidden",
      "unsupported_country_region_territory",
    ),
    words: "OpenAI at HOST does not serve this country or region (403). Choose another model with /model.",
  },
  {
    ...OPENAI,
    title: "no credit, which it tells with a 429",
    status: 429,
    body: openaiError(
      "You exceeded your current quota, please check your plan and billing details.",
      "insufficient_quota",
      "insufficient_quota",
    ),
    words:
      "OpenAI at HOST reports that the account has no credit left (429). Add credit there, or choose another model with /model.",
  },
  {
    ...OPENAI,
    title: "an unknown model",
    status: 404,
    body: openaiError(
      "The model `gpt-x` does not exist or you do not have access to it.",
      "invalid_request_error",
      "model_not_found",
    ),
    words: "OpenAI at HOST does not know the model gpt-x (404). /model chooses another.",
  },
  {
    ...OPENAI,
    title: "an unknown model in a 400",
    status: 400,
    body: openaiError(
      "The requested model 'gpt-x' does not exist.",
      "invalid_request_error",
      "model_not_found",
      "model",
    ),
    words: "OpenAI at HOST does not know the model gpt-x (400). /model chooses another.",
  },
  {
    ...OPENAI,
    title: "a path that does not exist",
    status: 404,
    body: openaiError("Invalid URL (POST /responses)", "invalid_request_error", null),
    words: `OpenAI at HOST has no model API at this address (404). ${CHECK_ADDRESS}`,
  },
  {
    ...OPENAI,
    title: "a rate limit with its time in the message",
    status: 429,
    body: openaiError(
      "Rate limit reached for gpt-x in organization org-x on tokens per min (TPM): Limit 30000, Used 29000, Requested 4000. Please try again in 1m30.2s. Visit https://platform.openai.com/account/rate-limits to learn more.",
      "tokens",
      "rate_limit_exceeded",
    ),
    words: "The rate limit of OpenAI at HOST is reached (429). Try again in 2 min.",
  },
  {
    ...OPENAI,
    title: "a request that no minute allows",
    status: 429,
    body: openaiError(
      "Request too large for gpt-x in organization org-x on tokens per min (TPM): Limit 30000, Requested 41000.",
      "tokens",
      "rate_limit_exceeded",
    ),
    words:
      "This conversation is larger than the rate limit of OpenAI at HOST allows in a minute (429). /compress shortens it, /model chooses another model.",
  },
  {
    ...OPENAI,
    title: "a conversation that is too long",
    status: 400,
    body: openaiError(
      "Your input exceeds the context window of this model. Please adjust your input and try again.",
      "invalid_request_error",
      "context_length_exceeded",
      "input",
    ),
    words: `The conversation is too long for gpt-x. ${CONTEXT}`,
    tooLong: true,
  },
  {
    ...OPENAI,
    title: "a prompt that it blocks",
    status: 400,
    body: openaiError(
      "Invalid prompt: your prompt was flagged as potentially violating our usage policy.",
      "invalid_request_error",
      "invalid_prompt",
    ),
    words:
      "The content filter of OpenAI at HOST blocked this. Change the request, or choose another model with /model.",
  },
  {
    ...OPENAI,
    title: "an overload",
    status: 503,
    body: openaiError("The engine is currently overloaded, please try again later", "server_error", null),
    words: "OpenAI at HOST is overloaded (503). Try again in a few minutes.",
  },
  {
    ...GOOGLE,
    title: "a wrong key, which it tells with a 400",
    status: 400,
    body: googleError(400, "INVALID_ARGUMENT", "API key not valid. Please pass a valid API key.", {
      "@type": "type.googleapis.com/google.rpc.ErrorInfo",
      reason: "API_KEY_INVALID",
      domain: "googleapis.com",
    }),
    words:
      "Google at HOST did not accept the API key (400). Check GEMINI_API_KEY or model.api_key and start Postrider again.",
  },
  {
    ...GOOGLE,
    title: "an unknown model",
    status: 404,
    body: googleError(
      404,
      "NOT_FOUND",
      "models/gemini-x is not found for API version v1beta, or is not supported for generateContent. Call ListModels to see the list of available models and their supported methods.",
    ),
    words: "Google at HOST does not know the model gemini-x (404). /model chooses another.",
  },
  {
    ...GOOGLE,
    title: "a quota with its time",
    status: 429,
    body: googleError(
      429,
      "RESOURCE_EXHAUSTED",
      "You exceeded your current quota, please check your plan and billing details. Please retry in 23.4s.",
      { "@type": "type.googleapis.com/google.rpc.RetryInfo", retryDelay: "23s" },
    ),
    words: "The rate limit of Google at HOST is reached (429). Try again in 24 s.",
  },
  {
    ...GOOGLE,
    title: "an overload",
    status: 503,
    body: googleError(503, "UNAVAILABLE", "The model is overloaded. Please try again later."),
    words: "Google at HOST is overloaded (503). Try again in a few minutes.",
  },
  {
    ...GOOGLE,
    title: "a conversation that is too long",
    status: 400,
    body: googleError(
      400,
      "INVALID_ARGUMENT",
      "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).",
    ),
    words: `The conversation is too long for gemini-x. ${CONTEXT}`,
    tooLong: true,
  },
  {
    ...GOOGLE,
    title: "a region that it does not serve",
    status: 400,
    body: googleError(400, "FAILED_PRECONDITION", "User location is not supported for the API use."),
    words: "Google at HOST does not serve this country or region (400). Choose another model with /model.",
  },
  {
    ...OPENROUTER,
    title: "no credit",
    status: 402,
    body: {
      error: {
        code: 402,
        message: "This request requires more credits, or fewer max_tokens.",
        metadata: { provider_name: null },
      },
      user_id: "user_x",
    },
    words:
      "OpenRouter at HOST reports that the account has no credit left (402). Add credit there, or choose another model with /model.",
  },
  {
    ...OPENROUTER,
    title: "a wrong key",
    status: 401,
    body: { error: { message: "User not found.", code: 401 } },
    words:
      "OpenRouter at HOST did not accept the API key (401). Check OPENROUTER_API_KEY or model.api_key and start Postrider again.",
  },
  {
    ...OPENROUTER,
    title: "an unknown model",
    status: 400,
    body: { error: { message: "acme/llm is not a valid model ID", code: 400 }, user_id: "user_x" },
    words: "OpenRouter at HOST does not know the model acme/llm (400). /model chooses another.",
  },
  {
    ...OPENROUTER,
    title: "a model that nobody serves under the settings",
    status: 404,
    body: { error: { message: "No endpoints found matching your data policy.", code: 404 } },
    words:
      "OpenRouter at HOST finds no provider for the model acme/llm (404). Choose another with /model, or check the privacy settings there.",
  },
  {
    ...OPENROUTER,
    title: "moderation",
    status: 403,
    body: {
      error: {
        code: 403,
        message: 'acme/llm requires moderation on Acme. Your input was flagged for "violence".',
        metadata: {
          reasons: ["violence"],
          flagged_input: "…",
          provider_name: "Acme",
          model_slug: "acme/llm",
        },
      },
    },
    words:
      "The content filter of OpenRouter at HOST blocked this. Change the request, or choose another model with /model.",
  },
  {
    ...OPENROUTER,
    title: "a provider behind it that is down",
    status: 502,
    body: { error: { code: 502, message: "Provider returned error", metadata: { raw: "ECONNRESET" } } },
    words: "OpenRouter at HOST is not available at the moment (502). Try again in a few minutes.",
  },
  {
    ...SERVER,
    title: "a model that Ollama does not have",
    status: 404,
    body: { error: 'model "llama-x" not found, try pulling it first' },
    words:
      "The model server at HOST does not have the model llama-x (404). Pull it there, or choose another with /model.",
  },
  {
    ...SERVER,
    title: "a model that vLLM does not have",
    status: 404,
    body: {
      object: "error",
      message: "The model `llama-x` does not exist.",
      type: "NotFoundError",
      code: 404,
    },
    words: "The model server at HOST does not know the model llama-x (404). /model chooses another.",
  },
  {
    ...SERVER,
    title: "a conversation that is too long for llama.cpp",
    status: 400,
    body: {
      error: {
        code: 400,
        message: "request (9001 tokens) exceeds the available context size (8192 tokens), try increasing it",
        type: "exceed_context_size_error",
        n_prompt_tokens: 9001,
        n_ctx: 8192,
      },
    },
    words: `The conversation is too long for llama-x. ${CONTEXT}`,
    tooLong: true,
  },
  {
    ...SERVER,
    title: "a conversation that is too long for vLLM",
    status: 400,
    body: {
      object: "error",
      message: "This model's maximum context length is 4096 tokens. However, you requested 5000 tokens.",
      type: "BadRequestError",
      code: 400,
    },
    words: `The conversation is too long for llama-x. ${CONTEXT}`,
    tooLong: true,
  },
  {
    ...SERVER,
    title: "a picture that the model cannot read",
    status: 400,
    body: { error: { message: "The model llama-x has no vision: image input is not supported", type: "x" } },
    words:
      'The model server at HOST rejected the request (400): "The model llama-x has no vision: image input is not supported".',
  },
  {
    ...SERVER,
    title: "a 403 without a word about models or keys",
    status: 403,
    body: { error: "Access denied" },
    words:
      "The model server at HOST denied access (403). Check the permissions of the key, and whether a proxy or firewall blocks the request.",
  },
  {
    ...SERVER,
    title: "a model that llama.cpp still loads",
    status: 503,
    body: { error: { code: 503, message: "Loading model", type: "unavailable_error" } },
    words: "The model server at HOST is still loading the model llama-x (503). Try again in a minute.",
  },
  {
    ...SERVER,
    title: "a key that llama.cpp does not accept",
    status: 401,
    body: { error: { code: 401, message: "Invalid API Key", type: "authentication_error" } },
    words:
      "The model server at HOST did not accept the API key (401). Check POSTRIDER_API_KEY or model.api_key and start Postrider again.",
  },
  {
    ...SERVER,
    title: "a wrong key in a 403",
    status: 403,
    body: { error: { message: "Invalid API key", type: "forbidden" } },
    words:
      "The model server at HOST did not accept the API key (403). Check POSTRIDER_API_KEY or model.api_key and start Postrider again.",
  },
  {
    ...SERVER,
    title: "the page of a firewall",
    status: 403,
    headers: HTML,
    body: "<!DOCTYPE html><html><body>Sorry, you have been blocked. Invalid API key for the model.</body></html>",
    words:
      "The model server at HOST denied access (403). Check the permissions of the key, and whether a proxy or firewall blocks the request.",
  },
  {
    ...SERVER,
    title: "nginx without an API at the path",
    status: 404,
    headers: HTML,
    body: NGINX_404,
    words: `The model server at HOST has no model API at this address (404). ${CHECK_ADDRESS}`,
  },
  {
    ...SERVER,
    title: "a path without an API, in JSON",
    status: 404,
    body: { detail: "Not Found" },
    words: `The model server at HOST has no model API at this address (404). ${CHECK_ADDRESS}`,
  },
  {
    ...SERVER,
    title: "a path that takes no POST",
    status: 405,
    body: { detail: "Method Not Allowed" },
    words: `The model server at HOST has no model API at this address (405). ${CHECK_ADDRESS}`,
  },
  {
    ...SERVER,
    title: "a web page instead of an answer",
    status: 200,
    headers: HTML,
    body: "<!doctype html><html><body>Welcome to my web site</body></html>",
    words: `The model server at HOST has no model API at this address (200, a web page). ${CHECK_ADDRESS}`,
  },
  {
    ...ANTHROPIC,
    title: "a web page instead of an answer",
    status: 200,
    headers: HTML,
    body: "<!doctype html><html><body>Please log in</body></html>",
    words: `Anthropic at HOST has no model API at this address (200, a web page). ${CHECK_ADDRESS}`,
  },
  {
    ...SERVER,
    title: "the page of a proxy whose server is down",
    status: 502,
    headers: HTML,
    body: CLOUDFLARE_502,
    words: "The model server at HOST is not available at the moment (502). Try again in a few minutes.",
  },
  {
    ...SERVER,
    title: "a rate limit without a time",
    status: 429,
    body: "Too Many Requests",
    words: "The rate limit of the model server at HOST is reached (429). Try again in a minute.",
  },
  {
    ...SERVER,
    title: "an internal error without a body",
    status: 500,
    body: "",
    words: "The model server at HOST has an internal error (500). Try again in a few minutes.",
  },
];
