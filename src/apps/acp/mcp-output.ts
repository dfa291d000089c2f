import type { CallToolResult } from "@modelcontextprotocol/client";
import { MAX_PART_BYTES, type Part, textPart } from "../../core/message.ts";
import type { Blob } from "../../core/turn.ts";
import type { ToolOutput } from "../../ports/tool.ts";
import { createBlob } from "../../sessions/message-input.ts";
import { getAttachmentName } from "./attachment-name.ts";

/** The result of an MCP call as tool output. Bytes become blobs, and the parts name their hashes. */
export function toToolOutput(result: CallToolResult, mask: (text: string) => string): ToolOutput {
  const { content, structuredContent, isError } = result;
  const blobs = new Map<string, Blob>();
  const parts = content.map((block) => toPart(block, mask, blobs));
  if (parts.length === 0)
    parts.push(textPart(structuredContent === undefined ? "done" : mask(JSON.stringify(structuredContent))));
  return {
    parts,
    ...(blobs.size > 0 && { blobs: [...blobs.values()] }),
    ...(isError === true && { failed: true }),
  };
}

function toPart(
  block: CallToolResult["content"][number],
  mask: (text: string) => string,
  blobs: Map<string, Blob>,
): Part {
  switch (block.type) {
    case "text":
      return textPart(mask(block.text));
    case "image":
      return toBinaryPart({ type: "image", mimeType: block.mimeType }, block.data, blobs);
    case "audio":
      return toBinaryPart({ type: "file", mimeType: block.mimeType, name: "audio" }, block.data, blobs);
    case "resource_link":
      return { type: "resource", uri: block.uri, ...pickMimeType(block) };
    case "resource": {
      const { resource } = block;
      const { uri } = resource;
      if ("text" in resource)
        return { type: "resource", uri, ...pickMimeType(resource), text: mask(resource.text) };
      const { mimeType = "application/octet-stream" } = resource;
      const type = mimeType.startsWith("image/") ? "image" : "file";
      return toBinaryPart({ type, mimeType, name: getAttachmentName(uri) }, resource.blob, blobs);
    }
  }
}

interface BinaryPartFields {
  readonly type: "image" | "file";
  readonly mimeType: string;
  readonly name?: string;
}

/** Text replaces bytes that are empty or too large to store. */
function toBinaryPart(named: BinaryPartFields, base64: string, blobs: Map<string, Blob>): Part {
  const bytes = new Uint8Array(Buffer.from(base64, "base64"));
  const size = bytes.byteLength;
  if (size === 0 || size > MAX_PART_BYTES)
    return textPart(`[${named.type} ${named.mimeType}, ${size.toLocaleString("en-US")} bytes, not stored]`);
  const blob = createBlob(bytes, "content");
  blobs.set(blob.hash, blob);
  return { ...named, blob: blob.hash, size };
}

function pickMimeType({ mimeType }: { readonly mimeType?: string | undefined }): {
  readonly mimeType?: string;
} {
  return mimeType === undefined ? {} : { mimeType };
}
