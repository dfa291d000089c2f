import type { ListedSession, Page } from "../../../core/listing.ts";
import { formatSessionTitle } from "./session-rows.ts";

type LoadPage = (cursor: string | undefined) => Promise<Page<ListedSession>>;

/** What a person looks through: the newest page first, more as they go on, narrowed down by what they type. */
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

  /** Where the choice stands among what was found. */
  get selectedIndex(): number {
    return this.#at;
  }

  get selected(): ListedSession | undefined {
    return this.#found[this.#at];
  }

  /** There is nothing more to load. */
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

  /** Loads until a screen below the choice is filled or nothing is left. `onPage` is called after every page. */
  fill(rows: number, onPage: () => void): Promise<void> {
    this.#loading ??= this.#fill(rows, onPage).finally(() => {
      this.#loading = undefined;
    });
    return this.#loading;
  }

  async #fill(rows: number, onPage: () => void): Promise<void> {
    // Several keys may come at once; what they ask for together is looked at when all of them are in.
    await Promise.resolve();
    while (!this.#isWhole && this.#found.length < this.#at + 2 * rows) {
      const { items, cursor } = await this.#load(this.#cursor);
      this.#loaded = [...this.#loaded, ...items];
      this.#cursor = cursor;
      this.#isWhole = cursor === undefined;
      this.#narrow();
      onPage();
      // A filter that fits nothing reads everything: keys come in between.
      await new Promise((resolve) => setImmediate(resolve));
    }
  }

  #narrow(): void {
    const wanted = foldText(this.#filter);
    this.#found =
      wanted === ""
        ? this.#loaded
        : this.#loaded.filter((session) => getSearchText(session).includes(wanted));
    this.move(0);
  }
}

function getSearchText(session: ListedSession): string {
  return foldText(
    [session.handle, formatSessionTitle(session), session.preview, session.origin?.platform ?? ""].join("\n"),
  );
}

/** As people type it: without capitals and accents. */
function foldText(text: string): string {
  return text
    .normalize("NFKD")
    .replaceAll(/\p{Mn}/gu, "")
    .toLowerCase();
}
