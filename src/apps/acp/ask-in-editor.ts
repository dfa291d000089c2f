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
 * How each answer is offered, one of each kind: of two `allow_always` some editors take the last. It is the narrower one,
 * which ends with the session; `/approve always` gives the other.
 */
const OPTIONS: Readonly<Record<OfferedAnswer, Omit<PermissionOption, "optionId">>> = {
  once: { name: "Allow once", kind: "allow_once" },
  session: { name: "Allow in this session", kind: "allow_always" },
  deny: { name: "Reject", kind: "reject_once" },
  never: { name: "Always reject", kind: "reject_always" },
};

/**
 * Asks whoever sits at the editor. The question is a row, so it can be answered anywhere; then the editor is told that
 * nobody waits for its answer any more.
 */
export async function askInEditor(
  editor: EditorContext,
  turn: Turn,
  request: ApprovalRequest,
  /** The call that waits for the answer, if it is about one. */
  call: ToolCallUpdate | undefined,
  signal: AbortSignal,
): Promise<ApprovalOutcome> {
  const over = new AbortController();
  const put = async (asked: Approval): Promise<void> => {
    // Not awaited: the answer may come from elsewhere first.
    void requestPermission(
      editor,
      asked,
      { ...(call ?? toApprovalCard(asked)), status: "pending" },
      AbortSignal.any([signal, over.signal]),
    ).catch((error: unknown) => editor.log.error({ error }, "an answer could not be stored"));
  };
  const expired = (asked: Approval): Promise<void> => {
    const content = { type: "text", text: `${formatExpiredApproval(asked)}\n\n` } as const;
    const update = { sessionUpdate: "agent_message_chunk", content } as const;
    return editor.client.notify("session/update", { sessionId: asked.session, update });
  };
  try {
    return await requestApproval(
      { ...editor, sendQuestion: put, onExpired: expired },
      turn,
      request,
      AbortSignal.any([editor.signal, signal]),
    );
  } finally {
    over.abort();
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
        if (!signal.aborted) log.warn({ error }, "the editor could not ask");
        // An editor that is gone has not answered.
        return error instanceof RequestError ? "deny" : undefined;
      },
    );
  if (signal.aborted || answer === undefined) return;
  // Refused only when it was answered elsewhere in the same moment: that answer counts.
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

/** What cannot be recognised again is allowed or refused this once. */
function buildPermissionOptions(request: ApprovalRequest): PermissionOption[] {
  const offered: readonly OfferedAnswer[] = [
    "once",
    ...(canBeKept(request) ? (["session"] as const) : []),
    "deny",
    ...(request.pattern === undefined ? [] : (["never"] as const)),
  ];
  return offered.map((optionId) => ({ optionId, ...OPTIONS[optionId] }));
}

/** What was not offered is no. */
function parsePermissionAnswer(
  response: Partial<RequestPermissionResponse> | null,
  offered: readonly PermissionOption[],
): ApprovalAnswer {
  const outcome = response?.outcome;
  const chosen = outcome?.outcome === "selected" ? outcome.optionId : undefined;
  return offered.some(({ optionId }) => optionId === chosen) ? (chosen as ApprovalAnswer) : "deny";
}
