import { textPart } from "../core/message.ts";
import type { Tool, ToolOutput } from "../ports/tool.ts";
import { readTextArgument, runToolAction, toToolArguments } from "./tool-arguments.ts";
import type { ToolContext } from "./tool-context.ts";

export function writeFileTool(hands: ToolContext): Tool {
  return {
    name: "write_file",
    description:
      "Writes a text file, whole: a new one, with the folders it needs, or in place of the old. To change a part of a file, use patch.",
    input: {
      type: "object",
      properties: {
        path: { type: "string", description: `The file, in full or from ${hands.cwd}.` },
        content: { type: "string", description: "All that it is to hold." },
      },
      required: ["path", "content"],
      additionalProperties: false,
    },
    effect: "external",
    run: (value, { signal }) =>
      runToolAction(async () => {
        const given = toToolArguments(value);
        const [path, content] = [
          readTextArgument(given, "path") ?? "",
          readTextArgument(given, "content") ?? "",
        ];
        const { writeWholeFile: writeWhole } = await import("./write-whole-file.ts");
        return { parts: [textPart(await writeWhole(path, content, hands, signal))] } satisfies ToolOutput;
      }),
  };
}
