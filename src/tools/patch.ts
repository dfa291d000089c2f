import { text } from "../core/message.ts";
import type { Tool, ToolOutput } from "../ports/tool.ts";
import { givenIn, outputOf, textIn } from "./given.ts";
import type { Hands } from "./hands.ts";

export function patchTool(hands: Hands): Tool {
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
      outputOf(async () => {
        const given = givenIn(value);
        const wanted = {
          path: textIn(given, "path") ?? "",
          old: textIn(given, "old") ?? "",
          new: textIn(given, "new") ?? "",
          all: given.all === true,
        };
        const { patchFile } = await import("./patch-file.ts");
        return { parts: [text(await patchFile(wanted, hands, signal))] } satisfies ToolOutput;
      }),
  };
}
