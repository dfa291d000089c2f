/** What answers an editor's requests. Loaded whole, once the editor has been told who is here. */
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
