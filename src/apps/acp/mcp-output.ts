import type { CallToolResult } from "@modelcontextprotocol/client";
import { type Part, text } from "../../core/message.ts";
import type { ToolOutput } from "../../ports/tool.ts";

/** What a server answers to a call, as it is stored and told. Pictures and sounds are only mentioned. */
export function outputOf(result: CallToolResult, masked: (text: string) => string): ToolOutput {
  const { content, structuredContent, isError } = result;
  const parts = content.map((block) => partOf(block, masked));
  if (parts.length === 0)
    parts.push(text(structuredContent === undefined ? "done" : masked(JSON.stringify(structuredContent))));
  return { parts, ...(isError === true && { failed: true }) };
}

function partOf(block: CallToolResult["content"][number], masked: (text: string) => string): Part {
  switch (block.type) {
    case "text":
      return text(masked(block.text));
    case "image":
    case "audio":
      return text(`[${block.type} ${block.mimeType}, ${bytesIn(block.data)} bytes, which is not shown]`);
    case "resource_link":
      return { type: "resource", uri: block.uri, ...mime(block) };
    case "resource": {
      const { resource } = block;
      const words = "text" in resource ? { text: masked(resource.text) } : {};
      return { type: "resource", uri: resource.uri, ...mime(resource), ...words };
    }
  }
}

function mime({ mimeType }: { readonly mimeType?: string | undefined }): { readonly mimeType?: string } {
  return mimeType === undefined ? {} : { mimeType };
}

function bytesIn(base64: string): string {
  return Buffer.byteLength(base64, "base64").toLocaleString("en-US");
}
