import type { ApprovalRequest } from "../core/approval.ts";
import { PostriderError } from "../core/errors.ts";
import { textPart } from "../core/message.ts";
import type { Tool, ToolAudience, ToolEffect, ToolOutput } from "../ports/tool.ts";

/** A schema of Zod 4.2 or later, or of another library that implements Standard Schema with JSON Schema. */
export interface ToolSchema<Input = unknown> {
  readonly "~standard": {
    validate(value: unknown): SchemaResult<Input> | Promise<SchemaResult<Input>>;
    readonly types?: { readonly input: unknown; readonly output: Input } | undefined;
    readonly jsonSchema: {
      input(options: { readonly target: "draft-2020-12" }): Record<string, unknown>;
    };
  };
}

export type SchemaResult<Input> =
  | { readonly value: Input; readonly issues?: undefined }
  | { readonly issues: readonly { readonly message: string }[] };

/** A JSON schema of an object. */
export type JsonSchema = Readonly<Record<string, unknown>>;

/** The arguments as `run` gets them: typed by the schema, or an object where it is a JSON schema. */
export type ToolInput<Schema> =
  Schema extends ToolSchema<infer Input> ? Input : Readonly<Record<string, unknown>>;

export interface ToolDefinition<Schema extends ToolSchema | JsonSchema> {
  /** Letters, digits, `_` and `-`, 64 at most. */
  readonly name: string;
  /** What it is for. The model reads it. */
  readonly description: string;
  readonly input: Schema;
  /** `none` if it changes nothing outside, so that it can run again after a crash. Default `external`. */
  readonly effect?: ToolEffect;
  /** Default `owner`: offered in the owner's direct chats only. */
  readonly audience?: ToolAudience;
  /** The question for the person before it runs; without one it runs at once. */
  approval?(input: ToolInput<Schema>): ApprovalRequest | undefined | Promise<ApprovalRequest | undefined>;
  /** Returns a text for the model, or parts. An exception becomes a failed output with its message. */
  run(
    input: ToolInput<Schema>,
    call: { readonly id: string; readonly signal: AbortSignal },
  ): Promise<string | ToolOutput> | string | ToolOutput;
}

/** A tool with typed arguments. */
export function defineTool<const Schema extends ToolSchema | JsonSchema>(
  definition: ToolDefinition<Schema>,
): Tool {
  const { name, description, input, effect = "external", audience } = definition;
  if (!/^[a-zA-Z0-9_-]{1,64}$/.test(name))
    throw new PostriderError(
      "invalid_input",
      `A tool's name consists of 1 to 64 letters, digits, "_" and "-", not "${name}".`,
    );
  return {
    name,
    description,
    input: isToolSchema(input) ? input["~standard"].jsonSchema.input({ target: "draft-2020-12" }) : input,
    effect,
    ...(audience !== undefined && { audience }),
    ...(definition.approval !== undefined && {
      buildApprovalRequest: async (args: unknown) => definition.approval?.(await parseArguments(input, args)),
    }),
    async run(args, call) {
      const output = await definition.run(await parseArguments(input, args), call);
      return typeof output === "string" ? { parts: [textPart(output)] } : output;
    },
  };
}

function isToolSchema(schema: ToolSchema | JsonSchema): schema is ToolSchema {
  return "~standard" in schema;
}

/** The JSON schema was checked before the call; a schema of a library may check more, and convert. */
async function parseArguments<Schema extends ToolSchema | JsonSchema>(
  schema: Schema,
  args: unknown,
): Promise<ToolInput<Schema>> {
  if (!isToolSchema(schema)) return args as ToolInput<Schema>;
  const result = await schema["~standard"].validate(args);
  if (result.issues === undefined) return result.value as ToolInput<Schema>;
  const reasons = result.issues.map(({ message }) => message).join("; ");
  throw new PostriderError("invalid_input", `The arguments do not fit: ${reasons}.`);
}
