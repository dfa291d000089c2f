import { textPart } from "../core/message.ts";
import type { Tool, ToolOutput } from "../ports/tool.ts";
import { readNumberArgument, readTextArgument, runToolAction, toToolArguments } from "./tool-arguments.ts";
import type { ToolContext } from "./tool-context.ts";

const LINES = 2000;

export function readFileTool(context: ToolContext): Tool {
  return {
    name: "read_file",
    description: [
      "Reads a text file, lists a folder, or reads a shortened earlier tool output in full, by the name output:… in its text.",
      `Returns ${LINES} lines by default; the first line of the result tells their position. A negative offset counts from the end.`,
      "Images and other binary files are only described.",
    ].join(" "),
    input: {
      type: "object",
      properties: {
        path: {
          type: "string",
          description: `The file or folder, as an absolute path or relative to ${context.cwd}; or output:… from an earlier output.`,
        },
        offset: {
          type: "integer",
          description: "The first line to read, from 1; -50 starts 50 lines before the end.",
        },
        limit: { type: "integer", minimum: 1, description: `The number of lines; default ${LINES}.` },
      },
      required: ["path"],
      additionalProperties: false,
    },
    effect: "none",
    run: (value) =>
      runToolAction(async () => {
        const args = toToolArguments(value);
        const path = readTextArgument(args, "path") ?? "";
        const paging = {
          offset: readNumberArgument(args, "offset") ?? 1,
          limit: readNumberArgument(args, "limit") ?? LINES,
        };
        const { readPart } = await import("./read-part.ts");
        return { parts: [textPart(await readPart(path, paging, context))] } satisfies ToolOutput;
      }),
  };
}
