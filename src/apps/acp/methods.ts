import {
  type AgentApp,
  type AgentCapabilities,
  type AuthMethod,
  agent as agentApp,
  type ClientCapabilities,
  methods,
  PROTOCOL_VERSION,
  type PromptRequest,
} from "@agentclientprotocol/sdk/unstable";
import { PostriderError } from "../../core/errors.ts";
import type { Log } from "../../ports/log.ts";
import type { EditorContext } from "./editor-context.ts";
import { MAX_REQUEST_BYTES, TOO_LONG_METHOD } from "./line-limit.ts";
import type { PendingPrompts } from "./pending-prompts.ts";
import { toRequestError } from "./request-error.ts";

/** Loaded after `initialize` is answered, for which an editor waits. */
type RequestHandlers = typeof import("./requests.ts");

export interface EditorAppOptions {
  readonly version: string;
  readonly log: Log;
  /** How the editor can get at a model, where there is none. */
  authMethods(): AuthMethod[];
  /** Looks again whether there is a model now. */
  authenticate(methodId: string): Promise<void>;
  /** The editor has said what it can: everything else begins. */
  onInitialize(can: ClientCapabilities): void;
  readonly pendingPrompts: PendingPrompts;
  /** The home, once it is open. */
  editor(): Promise<EditorContext>;
}

/** Exactly what has a handler below. */
const CAPABILITIES: AgentCapabilities = {
  loadSession: true,
  promptCapabilities: { image: true, embeddedContext: true },
  mcpCapabilities: { http: true, sse: true },
  sessionCapabilities: { list: {}, resume: {}, close: {}, delete: {}, fork: {}, title: {} },
};

/** Every method of the protocol that Postrider answers. */
export function buildEditorApp(serving: EditorAppOptions): AgentApp {
  const { agent: a } = methods;
  let loading: Promise<RequestHandlers> | undefined;
  const requests = (): Promise<RequestHandlers> => {
    loading ??= import("./requests.ts");
    return loading;
  };

  /** With the home open; and what goes wrong told in our words. */
  function served<Params, Result>(
    work: (
      to: RequestHandlers,
      editor: EditorContext,
      params: Params,
      signal: AbortSignal,
    ) => Promise<Result>,
  ): (context: { readonly params: Params; readonly signal: AbortSignal }) => Promise<Result> {
    return async ({ params, signal }) => {
      try {
        const [to, editor] = await Promise.all([requests(), serving.editor()]);
        return await work(to, editor, params, signal);
      } catch (error) {
        throw toRequestError(error, serving.log);
      }
    };
  }

  const answer = served(async (to, editor, params: PromptRequest, signal) => {
    const thread = await to.getThread(editor, params.sessionId);
    // Once more: it may not have known the session when it was first told.
    if (!thread.hasPrompts && thread.isIntroduced) void to.showCommands(editor, thread);
    thread.hasPrompts = true;
    return to.handlePrompt(editor, thread, params.prompt, signal);
  });

  return agentApp({ name: "postrider" })
    .onRequest(a.initialize, ({ params }) => {
      serving.onInitialize(params.clientCapabilities ?? {});
      return {
        protocolVersion: PROTOCOL_VERSION,
        agentInfo: { name: "postrider", title: "Postrider", version: serving.version },
        agentCapabilities: CAPABILITIES,
        authMethods: serving.authMethods(),
      };
    })
    .onRequest(
      a.authenticate,
      served(async (_to, _editor, { methodId }) => {
        await serving.authenticate(methodId);
        return {};
      }),
    )
    .onRequest(
      a.session.new,
      served(async (to, editor, params) => {
        const thread = await to.createThread(editor, params);
        return { sessionId: thread.id, ...(await to.finishOpening(editor, thread)) };
      }),
    )
    .onRequest(
      a.session.load,
      served(async (to, editor, params) => {
        const thread = await to.loadThread(editor, params);
        await thread.replay();
        return to.finishOpening(editor, thread);
      }),
    )
    .onRequest(
      a.session.resume,
      served(async (to, editor, params) => {
        const thread = await to.loadThread(editor, params);
        await thread.follow();
        return to.finishOpening(editor, thread);
      }),
    )
    .onRequest(
      a.session.fork,
      served(async (to, editor, params) => {
        const thread = await to.forkThread(editor, params);
        return { sessionId: thread.id, ...(await to.finishOpening(editor, thread)) };
      }),
    )
    .onRequest(
      a.session.list,
      served((to, editor, params) => to.listEditorSessions(editor, params)),
    )
    .onRequest(
      a.session.close,
      served(async (to, editor, { sessionId }) => {
        await to.closeThread(editor, sessionId);
        return {};
      }),
    )
    .onRequest(
      a.session.delete,
      served(async (to, editor, { sessionId }) => {
        await to.removeThread(editor, sessionId);
        return {};
      }),
    )
    .onRequest(
      a.session.setTitle,
      served(async (to, editor, { sessionId, title }) => {
        const thread = await to.getThread(editor, sessionId);
        return { title: await thread.setTitle(title) };
      }),
    )
    .onRequest(
      a.session.setMode,
      served(async (to, editor, { sessionId, modeId }) => {
        await to.applyChoice(editor, sessionId, "mode", modeId);
        return {};
      }),
    )
    .onRequest(
      a.session.setConfigOption,
      served(async (to, editor, { sessionId, configId, value }) => {
        const { configOptions } = await to.applyChoice(editor, sessionId, configId, value);
        return { configOptions };
      }),
    )
    .onRequest(a.session.prompt, ({ params, signal }) =>
      // Known from now on: a cancel that follows is meant for it.
      serving.pendingPrompts.answer(params.sessionId, signal, (until) => answer({ params, signal: until })),
    )
    .onNotification(a.session.cancel, ({ params }) => serving.pendingPrompts.cancel(params.sessionId))
    .onRequest(
      TOO_LONG_METHOD,
      (params) => params,
      () => {
        const megabytes = Math.floor(MAX_REQUEST_BYTES / 1024 / 1024);
        const sentence = `The message is longer than ${megabytes} MiB, so nothing of it was taken. Send a link or a smaller file.`;
        throw toRequestError(new PostriderError("too_large", sentence), serving.log);
      },
    );
}
