/** What answers an editor's requests. Loaded as a whole, once the editor has been told who is here. */
export { listSessions } from "./listing.ts";
export { prompt } from "./prompt.ts";
export {
  choose,
  closeThread,
  forkThread,
  loadThread,
  newThread,
  opened,
  removeThread,
  threadOf,
} from "./sessions.ts";
export { showCommands } from "./show-state.ts";
