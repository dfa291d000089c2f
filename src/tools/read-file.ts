import { textPart } from "../core/message.ts";
import type { Tool, ToolOutput } from "../ports/tool.ts";
import { readNumberArgument, readTextArgument, runToolAction, toToolArguments } from "./tool-arguments.ts";
import type { ToolContext } from "./tool-context.ts";

const LINES = 2000;

export function readFileTool(hands: ToolContext): Tool {
  return {
    name: "read_file",
    description: [
      "Reads a text file, lists a folder, or reads the whole of an earlier tool output that was shortened, by the name output:… that stands in it.",
      `Gives ${LINES} lines unless told otherwise; the first line of the answer says which of how many. A negative offset counts from the end.`,
      "Images and other files that are not text are only described.",
    ].join(" "),
    input: {
      type: "object",
      properties: {
        path: {
          type: "string",
          description: `The file or folder, in full or from ${hands.cwd}; or output:… as an earlier output says.`,
        },
        offset: {
          type: "integer",
          description: "The first line to read, from 1; -50 begins 50 lines before the end.",
        },
        limit: { type: "integer", minimum: 1, description: `How many lines; ${LINES} unless given.` },
      },
      required: ["path"],
      additionalProperties: false,
    },
    effect: "none",
    run: (value) =>
      runToolAction(async () => {
        const given = toToolArguments(value);
        const path = readTextArgument(given, "path") ?? "";
        const paging = {
          offset: readNumberArgument(given, "offset") ?? 1,
          limit: readNumberArgument(given, "limit") ?? LINES,
        };
        const { readPart } = await import("./read-part.ts");
        return { parts: [textPart(await readPart(path, paging, hands))] } satisfies ToolOutput;
      }),
  };
}
