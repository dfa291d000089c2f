import type { Listed, Page } from "../../../core/listing.ts";
import { nameOf } from "./rows.ts";

type Load = (cursor: string | undefined) => Promise<Page<Listed>>;

/** What a person looks through: the newest page first, more as they go on, narrowed down by what they type. */
export class BrowseList {
  readonly #load: Load;
  #loaded: readonly Listed[] = [];
  #found: readonly Listed[] = [];
  #cursor: string | undefined;
  #isWhole = false;
  #filter = "";
  #at = 0;
  #loading: Promise<void> | undefined;

  constructor(load: Load) {
    this.#load = load;
  }

  get found(): readonly Listed[] {
    return this.#found;
  }

  /** Where the choice stands among what was found. */
  get at(): number {
    return this.#at;
  }

  get chosen(): Listed | undefined {
    return this.#found[this.#at];
  }

  /** There is nothing more to load. */
  get isWhole(): boolean {
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
    const wanted = folded(this.#filter);
    this.#found =
      wanted === "" ? this.#loaded : this.#loaded.filter((session) => searched(session).includes(wanted));
    this.move(0);
  }
}

function searched(session: Listed): string {
  return folded(
    [session.handle, nameOf(session), session.preview, session.origin?.platform ?? ""].join("\n"),
  );
}

/** As people type it: without capitals and accents. */
function folded(text: string): string {
  return text
    .normalize("NFKD")
    .replaceAll(/\p{Mn}/gu, "")
    .toLowerCase();
}
