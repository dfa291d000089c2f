import {
  type PermissionOption,
  RequestError,
  type RequestPermissionResponse,
  type ToolCallUpdate,
} from "@agentclientprotocol/sdk/unstable";
import {
  type Approval,
  type ApprovalAnswer,
  type ApprovalOutcome,
  type ApprovalRequest,
  canBeKept,
} from "../../core/approval.ts";
import type { Turn } from "../../core/turn.ts";
import { formatExpiredApproval } from "../../gateway/request-approval-in-chat.ts";
import { requestApproval } from "../../turns/request-approval.ts";
import type { EditorContext } from "./editor-context.ts";

type OfferedAnswer = Exclude<ApprovalAnswer, "always">;

/**
 * One option of each kind: some editors use the last of two `allow_always`. Here it applies to the session only;
 * `/approve always` allows more.
 */
const OPTIONS: Readonly<Record<OfferedAnswer, Omit<PermissionOption, "optionId">>> = {
  once: { name: "Allow once", kind: "allow_once" },
  session: { name: "Allow in this session", kind: "allow_always" },
  deny: { name: "Reject", kind: "reject_once" },
  never: { name: "Always reject", kind: "reject_always" },
};

/**
 * Asks the person at the editor for permission. The question is a stored row, so it can also be answered elsewhere; then
 * the request to the editor is cancelled.
 */
export async function askInEditor(
  editor: EditorContext,
  turn: Turn,
  request: ApprovalRequest,
  /** The tool call that needs the permission, if there is one. */
  call: ToolCallUpdate | undefined,
  signal: AbortSignal,
): Promise<ApprovalOutcome> {
  const settled = new AbortController();
  const sendQuestion = async (asked: Approval): Promise<void> => {
    // Not awaited: another client may answer first.
    void requestPermission(
      editor,
      asked,
      { ...(call ?? toApprovalCard(asked)), status: "pending" },
      AbortSignal.any([signal, settled.signal]),
    ).catch((error: unknown) =>
      editor.log.error({ error }, "the editor's answer to an approval could not be stored"),
    );
  };
  const onExpired = (asked: Approval): Promise<void> => {
    const content = { type: "text", text: `${formatExpiredApproval(asked)}\n\n` } as const;
    const update = { sessionUpdate: "agent_message_chunk", content } as const;
    return editor.client.notify("session/update", { sessionId: asked.session, update });
  };
  try {
    return await requestApproval(
      { ...editor, sendQuestion, onExpired },
      turn,
      request,
      AbortSignal.any([editor.signal, signal]),
    );
  } finally {
    settled.abort();
  }
}

async function requestPermission(
  editor: EditorContext,
  asked: Approval,
  toolCall: ToolCallUpdate,
  signal: AbortSignal,
): Promise<void> {
  const { store, clock, client, log } = editor;
  const { session: sessionId, person, number: approval } = asked;
  const options = buildPermissionOptions(asked.request);
  const answer = await client
    .request(
      "session/request_permission",
      { sessionId, toolCall, options },
      { cancellationSignal: signal, stopWaitingOnCancel: true },
    )
    .then(
      (response) => parsePermissionAnswer(response, options),
      (error: unknown): ApprovalAnswer | undefined => {
        if (!signal.aborted) log.warn({ error }, "the editor could not show the approval");
        // A closed connection is no answer.
        return error instanceof RequestError ? "deny" : undefined;
      },
    );
  if (signal.aborted || answer === undefined) return;
  // Refused only if another client answered first: that answer counts.
  await store.access.answerApproval({ person, approval, answer, now: clock.now() });
}

function toApprovalCard({ number, request }: Approval): ToolCallUpdate {
  const { title, detail } = request;
  return {
    toolCallId: `approval-${number}`,
    title,
    kind: "other",
    ...(detail !== undefined && {
      content: [{ type: "content", content: { type: "text", text: detail } }],
    }),
  };
}

/** A request without a pattern can only be answered once. */
function buildPermissionOptions(request: ApprovalRequest): PermissionOption[] {
  const offered: readonly OfferedAnswer[] = [
    "once",
    ...(canBeKept(request) ? (["session"] as const) : []),
    "deny",
    ...(request.pattern === undefined ? [] : (["never"] as const)),
  ];
  return offered.map((optionId) => ({ optionId, ...OPTIONS[optionId] }));
}

/** An answer that was not offered denies. */
function parsePermissionAnswer(
  response: Partial<RequestPermissionResponse> | null,
  offered: readonly PermissionOption[],
): ApprovalAnswer {
  const outcome = response?.outcome;
  const chosen = outcome?.outcome === "selected" ? outcome.optionId : undefined;
  return offered.some(({ optionId }) => optionId === chosen) ? (chosen as ApprovalAnswer) : "deny";
}
