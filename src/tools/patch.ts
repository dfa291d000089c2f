import { textPart } from "../core/message.ts";
import type { Tool, ToolOutput } from "../ports/tool.ts";
import { readTextArgument, runToolAction, toToolArguments } from "./tool-arguments.ts";
import type { ToolContext } from "./tool-context.ts";

export function patchTool(hands: ToolContext): Tool {
  return {
    name: "patch",
    description:
      "Changes a part of a text file: the exact text old, which must stand there once, becomes new. Give enough of the lines around it that it is the only one, or all to change every one. Answers with what has changed.",
    input: {
      type: "object",
      properties: {
        path: { type: "string", description: `The file, in full or from ${hands.cwd}.` },
        old: { type: "string", description: "What stands there now, character by character." },
        new: { type: "string", description: "What is to stand there; empty takes it out." },
        all: { type: "boolean", description: "Whether every one is changed, if there are several." },
      },
      required: ["path", "old", "new"],
      additionalProperties: false,
    },
    effect: "external",
    run: (value, { signal }) =>
      runToolAction(async () => {
        const given = toToolArguments(value);
        const wanted = {
          path: readTextArgument(given, "path") ?? "",
          old: readTextArgument(given, "old") ?? "",
          new: readTextArgument(given, "new") ?? "",
          all: given.all === true,
        };
        const { patchFile } = await import("./patch-file.ts");
        return { parts: [textPart(await patchFile(wanted, hands, signal))] } satisfies ToolOutput;
      }),
  };
}
