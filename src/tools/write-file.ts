import { text } from "../core/message.ts";
import type { Tool, ToolOutput } from "../ports/tool.ts";
import { givenIn, outputOf, textIn } from "./given.ts";
import type { Hands } from "./hands.ts";

export function writeFileTool(hands: Hands): Tool {
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
      outputOf(async () => {
        const given = givenIn(value);
        const [path, content] = [textIn(given, "path") ?? "", textIn(given, "content") ?? ""];
        const { writeWhole } = await import("./write-whole.ts");
        return { parts: [text(await writeWhole(path, content, hands, signal))] } satisfies ToolOutput;
      }),
  };
}
