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

/** Loaded after the answer to `initialize`, so that the editor does not wait for it. */
type RequestHandlers = typeof import("./requests.ts");

export interface EditorAppOptions {
  readonly version: string;
  readonly log: Log;
  /** The ways to connect a model, while none is connected. */
  authMethods(): AuthMethod[];
  /** Looks for a model again. Throws if there is none. */
  authenticate(methodId: string): Promise<void>;
  /** The editor has sent its capabilities. */
  onInitialize(capabilities: ClientCapabilities): void;
  readonly pendingPrompts: PendingPrompts;
  /** Opens the home on first use. */
  editor(): Promise<EditorContext>;
}

/** Only capabilities with a handler below. */
const CAPABILITIES: AgentCapabilities = {
  loadSession: true,
  promptCapabilities: { image: true, embeddedContext: true },
  mcpCapabilities: { http: true, sse: true },
  sessionCapabilities: { list: {}, resume: {}, close: {}, delete: {}, fork: {}, title: {} },
};

/** Every method of the protocol that Postrider supports. */
export function buildEditorApp(options: EditorAppOptions): AgentApp {
  const { agent: a } = methods;
  let loading: Promise<RequestHandlers> | undefined;
  const requests = (): Promise<RequestHandlers> => {
    loading ??= import("./requests.ts");
    return loading;
  };

  /** Opens the home, runs the handler, and converts its errors. */
  function handleWith<Params, Result>(
    run: (
      handlers: RequestHandlers,
      editor: EditorContext,
      params: Params,
      signal: AbortSignal,
    ) => Promise<Result>,
  ): (context: { readonly params: Params; readonly signal: AbortSignal }) => Promise<Result> {
    return async ({ params, signal }) => {
      try {
        const [handlers, editor] = await Promise.all([requests(), options.editor()]);
        return await run(handlers, editor, params, signal);
      } catch (error) {
        throw toRequestError(error, options.log);
      }
    };
  }

  const answer = handleWith(async (handlers, editor, params: PromptRequest, signal) => {
    const thread = await handlers.getThread(editor, params.sessionId);
    // Again: some editors ignore the list if it arrives before they know the session.
    if (!thread.hasPrompts && thread.isIntroduced) void handlers.showCommands(editor, thread);
    thread.hasPrompts = true;
    return handlers.handlePrompt(editor, thread, params.prompt, signal);
  });

  return agentApp({ name: "postrider" })
    .onRequest(a.initialize, ({ params }) => {
      options.onInitialize(params.clientCapabilities ?? {});
      return {
        protocolVersion: PROTOCOL_VERSION,
        agentInfo: { name: "postrider", title: "Postrider", version: options.version },
        agentCapabilities: CAPABILITIES,
        authMethods: options.authMethods(),
      };
    })
    .onRequest(
      a.authenticate,
      handleWith(async (_handlers, _editor, { methodId }) => {
        await options.authenticate(methodId);
        return {};
      }),
    )
    .onRequest(
      a.session.new,
      handleWith(async (handlers, editor, params) => {
        const thread = await handlers.createThread(editor, params);
        return { sessionId: thread.id, ...(await handlers.finishOpening(editor, thread)) };
      }),
    )
    .onRequest(
      a.session.load,
      handleWith(async (handlers, editor, params) => {
        const thread = await handlers.loadThread(editor, params);
        await thread.display.replay();
        return handlers.finishOpening(editor, thread);
      }),
    )
    .onRequest(
      a.session.resume,
      handleWith(async (handlers, editor, params) => {
        const thread = await handlers.loadThread(editor, params);
        await thread.display.follow();
        return handlers.finishOpening(editor, thread);
      }),
    )
    .onRequest(
      a.session.fork,
      handleWith(async (handlers, editor, params) => {
        const thread = await handlers.forkThread(editor, params);
        return { sessionId: thread.id, ...(await handlers.finishOpening(editor, thread)) };
      }),
    )
    .onRequest(
      a.session.list,
      handleWith((handlers, editor, params) => handlers.listEditorSessions(editor, params)),
    )
    .onRequest(
      a.session.close,
      handleWith(async (handlers, editor, { sessionId }) => {
        await handlers.closeThread(editor, sessionId);
        return {};
      }),
    )
    .onRequest(
      a.session.delete,
      handleWith(async (handlers, editor, { sessionId }) => {
        await handlers.removeThread(editor, sessionId);
        return {};
      }),
    )
    .onRequest(
      a.session.setTitle,
      handleWith(async (handlers, editor, { sessionId, title }) => ({
        title: await handlers.setThreadTitle(editor, sessionId, title),
      })),
    )
    .onRequest(
      a.session.setMode,
      handleWith(async (handlers, editor, { sessionId, modeId }) => {
        await handlers.applyChoice(editor, sessionId, "mode", modeId);
        return {};
      }),
    )
    .onRequest(
      a.session.setConfigOption,
      handleWith(async (handlers, editor, { sessionId, configId, value }) => {
        const { configOptions } = await handlers.applyChoice(editor, sessionId, configId, value);
        return { configOptions };
      }),
    )
    .onRequest(a.session.prompt, ({ params, signal }) =>
      // Registered at once, so that a cancel right behind it finds it.
      options.pendingPrompts.answer(params.sessionId, signal, (until) => answer({ params, signal: until })),
    )
    .onNotification(a.session.cancel, ({ params }) => options.pendingPrompts.cancel(params.sessionId))
    .onRequest(
      TOO_LONG_METHOD,
      (params) => params,
      () => {
        const megabytes = Math.floor(MAX_REQUEST_BYTES / 1024 / 1024);
        const sentence = `The message is longer than ${megabytes} MiB, so Postrider did not accept it. Send a link or a smaller file.`;
        throw toRequestError(new PostriderError("too_large", sentence), options.log);
      },
    );
}
