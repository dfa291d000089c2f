import type { ListedSession, Page } from "../../../core/listing.ts";
import { formatSessionTitle } from "./session-rows.ts";

type LoadPage = (cursor: string | undefined) => Promise<Page<ListedSession>>;

/** The list of `sessions browse`: loads pages on demand and filters them by the typed text. */
export class BrowseList {
  readonly #load: LoadPage;
  #loaded: readonly ListedSession[] = [];
  #found: readonly ListedSession[] = [];
  #cursor: string | undefined;
  #isWhole = false;
  #filter = "";
  #at = 0;
  #loading: Promise<void> | undefined;

  constructor(load: LoadPage) {
    this.#load = load;
  }

  get matches(): readonly ListedSession[] {
    return this.#found;
  }

  /** The index of the selection among the matches. */
  get selectedIndex(): number {
    return this.#at;
  }

  get selected(): ListedSession | undefined {
    return this.#found[this.#at];
  }

  /** All pages are loaded. */
  get isComplete(): boolean {
    return this.#isWhole;
  }

  get loadedCount(): number {
    return this.#loaded.length;
  }

  move(by: number): void {
    this.#at = Math.max(0, Math.min(this.#found.length - 1, this.#at + by));
  }

  narrow(filter: string): void {
    if (filter === this.#filter) return;
    this.#filter = filter;
    this.#at = 0;
    this.#narrow();
  }

  /** Loads pages until a screen below the selection is full. Calls `onPage` after every page. */
  fill(rows: number, onPage: () => void): Promise<void> {
    this.#loading ??= this.#fill(rows, onPage).finally(() => {
      this.#loading = undefined;
    });
    return this.#loading;
  }

  async #fill(rows: number, onPage: () => void): Promise<void> {
    // Several keys may arrive at once: handle all of them first.
    await Promise.resolve();
    while (!this.#isWhole && this.#found.length < this.#at + 2 * rows) {
      const { items, cursor } = await this.#load(this.#cursor);
      this.#loaded = [...this.#loaded, ...items];
      this.#cursor = cursor;
      this.#isWhole = cursor === undefined;
      this.#narrow();
      onPage();
      // A filter without matches reads all pages: let keys in between.
      await new Promise((resolve) => setImmediate(resolve));
    }
  }

  #narrow(): void {
    const filter = foldText(this.#filter);
    this.#found =
      filter === ""
        ? this.#loaded
        : this.#loaded.filter((session) => getSearchText(session).includes(filter));
    this.move(0);
  }
}

function getSearchText(session: ListedSession): string {
  return foldText(
    [session.handle, formatSessionTitle(session), session.preview, session.origin?.platform ?? ""].join("\n"),
  );
}

/** Removes case and accents. */
function foldText(text: string): string {
  return text
    .normalize("NFKD")
    .replaceAll(/\p{Mn}/gu, "")
    .toLowerCase();
}
