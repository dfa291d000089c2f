/** The handlers of requests. One import loads them all after the answer to `initialize`. */
export { handlePrompt } from "./prompt.ts";
export { listEditorSessions } from "./stored-sessions.ts";
export {
  applyChoice,
  closeThread,
  createThread,
  finishOpening,
  forkThread,
  getThread,
  loadThread,
  removeThread,
  setThreadTitle,
  showCommands,
} from "./threads.ts";
