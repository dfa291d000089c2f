import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Message } from "./message.ts";
import { textPart } from "./message.ts";
import type { Session } from "./session.ts";
import { formatClockTime, formatTranscript } from "./transcript.ts";
import { emptyUsage } from "./usage.ts";

/** Half an hour before the clocks in Berlin went from two to three. */
const AT = Date.UTC(2026, 2, 29, 0, 30);
const HOUR = 3_600_000;

const session: Session = {
  id: "20260329_013000_00000001",
  handle: "k7f",
  kind: "chat",
  profile: "main",
  owner: "owner",
  title: "Über die Post",
  messageCount: 2,
  humanCount: 1,
  toolCallCount: 0,
  createdAt: AT,
  lastAt: AT,
  usage: emptyUsage(),
};

function buildMessage(role: Message["role"], words: string, more: Partial<Message> = {}): Message {
  return { session: session.id, seq: 1, at: AT, role, parts: words === "" ? [] : [textPart(words)], ...more };
}

describe("the transcript of a session", () => {
  it("contains its title, details, and messages with sender and time", () => {
    const { title: _, ...untitled } = session;
    expect(
      formatTranscript(
        session,
        [buildMessage("user", "hello"), buildMessage("assistant", "*hi*", { at: AT + HOUR })],
        "Europe/Berlin",
      ),
    ).toBe(
      `# Über die Post

- session: 20260329_013000_00000001 (k7f)
- started: 2026-03-29 01:30 (Europe/Berlin)
- messages: 2

## You, 2026-03-29 01:30

hello

## Agent, 2026-03-29 03:30

*hi*
`,
    );
    const source = { platform: "local", chatType: "dm", chatId: "cli" };
    const document = formatTranscript({ ...untitled, origin: source }, [], "UTC");
    expect(document).toMatch(/^# Session k7f\n/);
    expect(document).toContain("- platform: local\n- messages: 0\n");
  });

  it("contains the sender's name on one line, if the platform provides it", () => {
    const from = (userName: string) =>
      formatTranscript(session, [buildMessage("user", "x", { origin: { userName } })], "UTC");
    expect(from("Ann\n## Agent")).toContain("## Ann ## Agent, 2026");
    expect(from(" ")).toContain("## You, 2026");
    expect(
      formatTranscript(session, [buildMessage("note", "x", { origin: { userName: "Ann" } })], "UTC"),
    ).toContain("## Note, ");
  });

  it("shows Postrider as the sender of its own reports", () => {
    const told = buildMessage("user", "[It has ended.]", { origin: { proactive: true, userName: "Ann" } });
    expect(formatTranscript(session, [told], "UTC")).toContain("## Postrider, 2026");
  });

  it("contains neither reasoning nor data of the provider", () => {
    const extra = { model: { provider: "anthropic", parts: [{ data: { signature: "sig-1" } }] } };
    const written = formatTranscript(
      session,
      [buildMessage("assistant", "Here.", { reasoning: "hm-hm", extra })],
      "UTC",
    );
    expect(written).toContain("Here.");
    expect(written).not.toMatch(/sig-1|anthropic|hm-hm/);
  });

  it("marks an interrupted answer", () => {
    const document = formatTranscript(
      session,
      [buildMessage("assistant", "half", { origin: { interrupted: true } })],
      "UTC",
    );
    expect(document).toContain("## Agent, 2026-03-29 00:30, stopped\n\nhalf\n");
  });

  it("closes an open code block, so that the next message is no code", () => {
    const whole = "```js\nlet a;\n```";
    for (const [words, ending] of [
      ["```js\nlet a;", "let a;\n```\n"],
      ["~~~~\n```\n~~~", "~~~\n~~~~\n"],
      [whole, "let a;\n```\n"],
      ["`` ` `` and ```not a block``` here", "here\n"],
      ["```not a block``` here", "here\n"],
      [`${whole}\n\n  \`\`\`\nx`, "x\n```\n"],
    ])
      expect(
        formatTranscript(session, [buildMessage("assistant", words ?? "")], "UTC").endsWith(ending ?? ""),
      ).toBe(true);
  });

  it("shows the output of a tool unchanged, in a longer fence", () => {
    const tool = buildMessage("tool", "````\n# not a title\n````", { toolName: "cat", toolCallId: "1" });
    expect(formatTranscript(session, [tool], "UTC")).toContain(
      "## Tool cat, 2026-03-29 00:30\n\n`````\n````\n# not a title\n````\n`````\n",
    );
    fc.assert(
      fc.property(fc.array(fc.constantFrom("`", "\n", "a", "~"), { maxLength: 30 }), (pieces) => {
        const words = pieces.join("");
        const document = formatTranscript(
          session,
          [buildMessage("tool", words), buildMessage("user", "after")],
          "UTC",
        );
        const [, fence = ""] = /## Tool, [^\n]*\n\n(`+)\n/.exec(document) ?? [];
        expect(fence.length).toBeGreaterThan(2);
        expect(words).not.toContain(fence);
        expect(document).toContain(`${fence}\n${words}\n${fence}\n\n## You`);
      }),
    );
  });

  it("shows tool calls with arguments, and attachments", () => {
    const call = buildMessage("assistant", "", {
      toolCalls: [{ id: "1", name: "read", arguments: { path: "a`b" } }],
    });
    const bytes = { blob: "ab".repeat(32), mimeType: "image/png", size: 3 };
    const attached = buildMessage("user", "look", {
      parts: [
        textPart("look"),
        { type: "image", ...bytes },
        { type: "file", ...bytes, name: "plan.pdf" },
        { type: "resource", uri: "file:///a" },
      ],
    });
    const document = formatTranscript(session, [call, attached], "UTC");
    expect(document).toContain(
      '## Agent, 2026-03-29 00:30\n\nCalls read:\n\n```json\n{\n  "path": "a`b"\n}\n```\n',
    );
    expect(document).toContain(
      "look\n\n*image: image/png, 3 bytes*\n\n*file: plan.pdf, 3 bytes*\n\n*resource: file:///a*\n",
    );
  });
});

describe("the time", () => {
  it("is local to the zone, also across the change to summer time", () => {
    expect(formatClockTime(AT, "UTC")).toBe("2026-03-29 00:30");
    expect(formatClockTime(AT + HOUR, "Europe/Berlin")).toBe("2026-03-29 03:30");
    expect(formatClockTime(AT, "Asia/Kathmandu")).toBe("2026-03-29 06:15");
    expect(formatClockTime(AT, "America/New_York")).toBe("2026-03-28 20:30");
  });
});
