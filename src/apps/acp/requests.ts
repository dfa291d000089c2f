/** What answers an editor's requests. Loaded whole, once the editor has been told who is here. */
export { listEditorSessions } from "./list-editor-sessions.ts";
export { handlePrompt } from "./prompt.ts";
export { showCommands } from "./show-state.ts";
export {
  applyChoice,
  closeThread,
  createThread,
  finishOpening,
  forkThread,
  getThread,
  loadThread,
  removeThread,
} from "./threads.ts";
