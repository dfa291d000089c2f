import { textPart } from "../core/message.ts";
import type { Tool, ToolOutput } from "../ports/tool.ts";
import { readTextArgument, runToolAction, toToolArguments } from "./tool-arguments.ts";
import type { ToolContext } from "./tool-context.ts";

export function writeFileTool(context: ToolContext): Tool {
  return {
    name: "write_file",
    description:
      "Writes a whole text file: creates it with its parent folders, or overwrites it. To change a part of a file, use patch.",
    input: {
      type: "object",
      properties: {
        path: { type: "string", description: `The file, as an absolute path or relative to ${context.cwd}.` },
        content: { type: "string", description: "The complete content." },
      },
      required: ["path", "content"],
      additionalProperties: false,
    },
    effect: "external",
    run: (value, { signal }) =>
      runToolAction(async () => {
        const args = toToolArguments(value);
        const [path, content] = [
          readTextArgument(args, "path") ?? "",
          readTextArgument(args, "content") ?? "",
        ];
        const { writeWholeFile } = await import("./write-whole-file.ts");
        return {
          parts: [textPart(await writeWholeFile(path, content, context, signal))],
        } satisfies ToolOutput;
      }),
  };
}
