import { textPart } from "../core/message.ts";
import type { Tool, ToolOutput } from "../ports/tool.ts";
import { readTextArgument, runToolAction, toToolArguments } from "./tool-arguments.ts";
import type { ToolContext } from "./tool-context.ts";

export function patchTool(context: ToolContext): Tool {
  return {
    name: "patch",
    description:
      "Changes a part of a text file: replaces the exact text old, which must occur once, with new. Include enough surrounding lines to make it unique, or set all to replace every occurrence. Returns the diff.",
    input: {
      type: "object",
      properties: {
        path: { type: "string", description: `The file, as an absolute path or relative to ${context.cwd}.` },
        old: { type: "string", description: "The current text, character by character." },
        new: { type: "string", description: "The new text; empty removes the old text." },
        all: { type: "boolean", description: "Replace every occurrence." },
      },
      required: ["path", "old", "new"],
      additionalProperties: false,
    },
    effect: "external",
    run: (value, { signal }) =>
      runToolAction(async () => {
        const args = toToolArguments(value);
        const patch = {
          path: readTextArgument(args, "path") ?? "",
          old: readTextArgument(args, "old") ?? "",
          new: readTextArgument(args, "new") ?? "",
          all: args.all === true,
        };
        const { patchFile } = await import("./patch-file.ts");
        return { parts: [textPart(await patchFile(patch, context, signal))] } satisfies ToolOutput;
      }),
  };
}
