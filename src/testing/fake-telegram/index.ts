export { type ControlServer, connectFakeTelegram, startControlledTelegram } from "./control.ts";
export { parseHtml } from "./html.ts";
export { type FakeTelegram, type FakeTelegramOptions, startFakeTelegram } from "./server.ts";
export type {
  AlbumOptions,
  BotApiCall as Call,
  ChatMessage,
  FakeControls,
  FakeFile,
  FakeUser,
  Faults,
  FileKind,
  FileOptions,
  GroupOptions,
  NextFault,
  SayOptions,
} from "./types.ts";
