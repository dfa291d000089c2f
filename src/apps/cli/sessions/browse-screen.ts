import {
  type Component,
  type Focusable,
  getKeybindings,
  Input,
  KeybindingsManager,
  matchesKey,
  ProcessTerminal,
  setKeybindings,
  TUI_KEYBINDINGS,
  TuiAltScreen,
  truncateToWidth,
  wrapTextWithAnsi,
} from "@earendil-works/pi-tui";
import type { ListedSession } from "../../../core/listing.ts";
import type { Io } from "../io.ts";
import { createStyle, type Style } from "../style.ts";
import type { BrowseList } from "./browse-list.ts";
import { formatSessionRows } from "./session-rows.ts";

export interface BrowseOptions {
  readonly list: BrowseList;
  readonly everyone: boolean;
  /** Loads the preview lines of a session. */
  preview(session: ListedSession): Promise<readonly string[]>;
}

/** Runs until the person selects a session or exits. It always restores the terminal. */
export async function browseOnScreen(io: Io, browsing: BrowseOptions): Promise<ListedSession | undefined> {
  const terminal = new ProcessTerminal();
  const tui = new TuiAltScreen(terminal, undefined, undefined, { mouse: false });
  const keys = getKeybindings();
  setKeybindings(disablePageKeys());
  let isOn = true;
  const restore = (): void => {
    if (isOn) tui.stop({ preserveScreen: true });
    isOn = false;
  };
  const ended = (signal: NodeJS.Signals): void => {
    restore();
    process.kill(process.pid, signal);
  };
  const signals = ["SIGTERM", "SIGHUP", "SIGINT"] as const;
  process.on("exit", restore);
  for (const signal of signals) process.once(signal, ended);
  try {
    return await new Promise<ListedSession | undefined>((resolve, reject) => {
      const render = (): void => tui.requestRender();
      const screen = new BrowseScreen(io, browsing, {
        rows: () => terminal.rows,
        render,
        done: resolve,
        failed: reject,
      });
      tui.setLayoutRoot(screen);
      tui.setFocus(screen);
      tui.start();
      screen.fill();
    });
  } finally {
    await terminal.drainInput(200, 20);
    restore();
    setKeybindings(keys);
    process.off("exit", restore);
    for (const signal of signals) process.off(signal, ended);
  }
}

/** The library uses these keys for scrolling; here they move the selection. */
function disablePageKeys(): KeybindingsManager {
  const names = Object.keys(TUI_KEYBINDINGS).filter((name) => name.startsWith("tui.altScreen."));
  return new KeybindingsManager(TUI_KEYBINDINGS, Object.fromEntries(names.map((name) => [name, []])));
}

interface BrowseCallbacks {
  rows(): number;
  render(): void;
  done(chosen: ListedSession | undefined): void;
  failed(error: unknown): void;
}

/** The rows of the filter, the heading and the hint. */
const FRAME_ROWS = 3;

interface Preview {
  readonly lines: readonly string[];
  top: number;
}

class BrowseScreen implements Component, Focusable {
  readonly #browsing: BrowseOptions;
  readonly #callbacks: BrowseCallbacks;
  readonly #style: Style;
  readonly #now: number;
  readonly #filter = new Input({ prompt: "Filter: ", placeholder: "title, first words, handle or platform" });
  #preview: Preview | undefined;
  #top = 0;
  /** While typing, a space belongs to the filter and does not open the preview. */
  #isTyping = false;

  constructor(io: Io, browsing: BrowseOptions, callbacks: BrowseCallbacks) {
    this.#browsing = browsing;
    this.#callbacks = callbacks;
    this.#style = createStyle(io);
    this.#now = io.now();
  }

  get focused(): boolean {
    return this.#filter.focused;
  }

  set focused(value: boolean) {
    this.#filter.focused = value;
  }

  invalidate(): void {
    this.#filter.invalidate();
  }

  /** Loads rows for the screen in the background. */
  fill(): void {
    const { render, failed } = this.#callbacks;
    this.#browsing.list.fill(this.#room(), render).catch(failed);
  }

  handleInput(data: string): void {
    if (matchesKey(data, "ctrl+c") || matchesKey(data, "ctrl+d")) this.#callbacks.done(undefined);
    else if (this.#preview !== undefined) this.#inPreview(data, this.#preview);
    else this.#inList(data);
    this.#callbacks.render();
  }

  #inList(data: string): void {
    const { list } = this.#browsing;
    const by = getKeyStep(data, this.#room());
    if (matchesKey(data, "escape") || (data === "q" && this.#filter.getValue() === "")) {
      this.#callbacks.done(undefined);
    } else if (matchesKey(data, "enter")) {
      if (list.selected !== undefined) this.#callbacks.done(list.selected);
    } else if (matchesKey(data, "tab") || (matchesKey(data, "space") && !this.#isTyping)) {
      void this.#openPreview();
    } else {
      if (by === undefined) this.#filter.handleInput(data);
      else list.move(by);
      this.#isTyping = by === undefined && this.#filter.getValue() !== "";
      list.narrow(this.#filter.getValue());
      this.fill();
    }
  }

  #inPreview(data: string, preview: Preview): void {
    const { list } = this.#browsing;
    if (matchesKey(data, "enter")) this.#callbacks.done(list.selected);
    else if (matchesKey(data, "escape") || matchesKey(data, "space") || data === "q")
      this.#preview = undefined;
    else preview.top = Math.max(0, preview.top + (getKeyStep(data, this.#callbacks.rows() - 2) ?? 0));
  }

  async #openPreview(): Promise<void> {
    const { selected } = this.#browsing.list;
    if (selected === undefined) return;
    try {
      this.#preview = { lines: await this.#browsing.preview(selected), top: 0 };
      this.#callbacks.render();
    } catch (error) {
      this.#callbacks.failed(error);
    }
  }

  render(width: number): string[] {
    const lines = this.#preview === undefined ? this.#list(width) : this.#previewLines(width, this.#preview);
    return lines.slice(0, this.#callbacks.rows()).map((line) => truncateToWidth(line, width, ""));
  }

  #list(width: number): string[] {
    const { list, everyone } = this.#browsing;
    const room = this.#room();
    this.#top = Math.max(Math.min(this.#top, list.selectedIndex), list.selectedIndex - room + 1, 0);
    const visible = list.matches.slice(this.#top, this.#top + room);
    const [heading = "", ...rows] = formatSessionRows(visible, {
      width: Math.max(1, width - 2),
      now: this.#now,
      everyone,
    });
    const body = rows.map((row, index) =>
      this.#top + index === list.selectedIndex ? this.#selected(row) : `  ${row}`,
    );
    if (body.length === 0) body.push(this.#style.dim(list.isComplete ? "  No matches." : "  Searching…"));
    const blank = Array.from({ length: Math.max(0, room - body.length) }, () => "");
    const found = `${list.matches.length}${list.isComplete ? "" : "+"}`;
    const hint = `${found} · Enter open · Esc exit · Space preview · ↑↓ select`;
    return [
      ...this.#filter.render(width),
      this.#style.dim(`  ${heading}`),
      ...body,
      ...blank,
      this.#style.dim(hint),
    ];
  }

  #selected(row: string): string {
    return this.#style.isOn ? `\x1b[7m❯ ${row}\x1b[27m` : `❯ ${row}`;
  }

  #previewLines(width: number, preview: Preview): string[] {
    const room = Math.max(1, this.#callbacks.rows() - 1);
    const wrapped = preview.lines.flatMap((line) => (line === "" ? [""] : wrapTextWithAnsi(line, width)));
    preview.top = Math.max(0, Math.min(preview.top, wrapped.length - room));
    const shown = wrapped.slice(preview.top, preview.top + room);
    const blank = Array.from({ length: room - shown.length }, () => "");
    return [...shown, ...blank, this.#style.dim("↑↓ scroll · Enter open · Esc back")];
  }

  #room(): number {
    return Math.max(1, this.#callbacks.rows() - FRAME_ROWS);
  }
}

/** The number of lines by which a key moves. */
function getKeyStep(data: string, page: number): number | undefined {
  if (matchesKey(data, "up")) return -1;
  if (matchesKey(data, "down")) return 1;
  if (matchesKey(data, "pageUp")) return -page;
  if (matchesKey(data, "pageDown")) return page;
  if (matchesKey(data, "home")) return Number.NEGATIVE_INFINITY;
  if (matchesKey(data, "end")) return Number.MAX_SAFE_INTEGER;
  return undefined;
}
