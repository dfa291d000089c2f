import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { PostriderError } from "./errors.ts";
import {
  appendToView,
  compressView,
  countShown,
  createView,
  cutView,
  findMessageAt,
  findPosition,
  forkView,
  listShownPieces,
  restoreView,
  rewriteView,
  type ViewState,
} from "./view.ts";

const A = 7;
const B = 8;

describe("a session's view", () => {
  it("starts empty, with its own open piece", () => {
    expect(createView(A)).toEqual({ self: A, nextSeq: 1, pieces: [{ session: A, from: 1 }], hidden: [] });
    expect(listShownPieces(createView(A))).toEqual([]);
    expect(countShown(createView(A))).toBe(0);
  });

  it("grows by appending without changing the list", () => {
    const before = createView(A);
    const after = appendToView(before, 3);
    expect(after.pieces).toBe(before.pieces);
    expect(names(after)).toEqual(["7/1", "7/2", "7/3"]);
  });

  it("is cut by an undo, hides the removed messages, and continues with new seqs", () => {
    const undone = cutView(appendToView(createView(A), 4), 2);
    expect(undone.pieces).toEqual([
      { session: A, from: 1, to: 2 },
      { session: A, from: 5 },
    ]);
    expect(undone.hidden).toEqual([{ from: 3, to: 4 }]);
    expect(names(appendToView(undone, 1))).toEqual(["7/1", "7/2", "7/5"]);
  });

  it("keeps one open piece after a cut without effect", () => {
    const state = appendToView(createView(A), 4);
    expect(cutView(state, 4)).toEqual(state);
    expect(cutView(state, 99)).toEqual(state);
  });

  it("is restored by a redo, which unhides the messages", () => {
    const state = appendToView(createView(A), 4);
    const redone = restoreView(cutView(state, 1), listShownPieces(state));
    expect(redone).toEqual(state);
  });

  it("is rewritten with new messages and hides the old ones", () => {
    const state = rewriteView(appendToView(createView(A), 3), 2);
    expect(state).toEqual({
      self: A,
      nextSeq: 6,
      pieces: [{ session: A, from: 4 }],
      hidden: [{ from: 1, to: 3 }],
    });
    expect(countShown(rewriteView(state, 0))).toBe(0);
  });

  it("is compressed to a summary and the last messages, and hides nothing", () => {
    const state = compressView(appendToView(createView(A), 5), 2);
    expect(names(state)).toEqual(["7/6", "7/4", "7/5"]);
    expect(state.hidden).toEqual([]);
    expect(names(appendToView(state, 1))).toEqual(["7/6", "7/4", "7/5", "7/7"]);
    expect(compressView(appendToView(createView(A), 5), 0).pieces).toEqual([{ session: A, from: 6 }]);
  });

  it("is forked in constant size, at any length", () => {
    const fork = forkView(appendToView(createView(A), 10_000), B, 9_000);
    expect(fork).toEqual({
      self: B,
      nextSeq: 1,
      pieces: [
        { session: A, from: 1, to: 9_000 },
        { session: B, from: 1 },
      ],
      hidden: [],
    });
    expect(forkView(createView(A), B)).toEqual(createView(B));
  });

  it("never hides messages of the origin when a fork undoes them", () => {
    const fork = appendToView(forkView(appendToView(createView(A), 3), B), 2);
    const undone = cutView(fork, 1);
    expect(names(undone)).toEqual(["7/1"]);
    expect(undone.hidden).toEqual([{ from: 1, to: 2 }]);
  });

  it("has no position outside of its length", () => {
    const state = cutView(appendToView(createView(A), 3), 2);
    expect(findPosition(state, A, 3)).toBeUndefined();
    expect(findPosition(state, B, 1)).toBeUndefined();
    expect(findMessageAt(state, 2)).toBeUndefined();
    expect(findMessageAt(state, -1)).toBeUndefined();
    expect(findMessageAt(state, 0.5)).toBeUndefined();
  });

  it("refuses fractions of messages and missing messages", () => {
    const state = appendToView(createView(A), 3);
    expect(() => cutView(state, -1)).toThrow(PostriderError);
    expect(() => appendToView(state, 1.5)).toThrow(PostriderError);
    expect(() => rewriteView(state, Number.NaN)).toThrow(PostriderError);
    expect(() => restoreView(state, [{ session: A, from: 1, to: 4 }])).toThrow(PostriderError);
    expect(() => restoreView(state, [{ session: B, from: 0, to: 4 }])).toThrow(PostriderError);
  });
});

/** The model: a session as a plain array of message names, changed by copying. */
interface Model {
  readonly self: number;
  next: number;
  shown: string[];
  hidden: Set<string>;
}

interface Op {
  readonly op: "append" | "rewrite" | "cut" | "compress" | "fork" | "restore";
  readonly on: number;
  readonly n: number;
}

const ops: fc.Arbitrary<Op[]> = fc.array(
  fc.record({
    op: fc.constantFrom("append", "append", "rewrite", "cut", "compress", "fork", "restore"),
    on: fc.nat(5),
    n: fc.nat(9),
  }),
  { maxLength: 40, size: "max" },
);

describe("any sequence of view changes", () => {
  it("gives the same messages as an array, in every session, each once", () => {
    fc.assert(
      fc.property(ops, (list) => {
        for (const [state, model] of run(list)) {
          expect(names(state)).toEqual(model.shown);
          expect(countShown(state)).toBe(model.shown.length);
          expect(state.nextSeq).toBe(model.next);
          expect(new Set(model.shown).size).toBe(model.shown.length);
        }
      }),
    );
  });

  it("ends every list with the session's own open piece, without empty or adjacent pieces", () => {
    fc.assert(
      fc.property(ops, (list) => {
        for (const [state] of run(list)) {
          const last = state.pieces.at(-1);
          expect(last?.session).toBe(state.self);
          expect(last !== undefined && "to" in last).toBe(false);
          expect(last?.from).toBeLessThanOrEqual(state.nextSeq);
          for (const [i, piece] of state.pieces.slice(0, -1).entries()) {
            const next = state.pieces[i + 1];
            expect(piece.to).toBeGreaterThanOrEqual(piece.from);
            expect(next?.session === piece.session && next.from === (piece.to ?? 0) + 1).toBe(false);
          }
        }
      }),
    );
  });

  it("hides exactly the removed own messages, and no shown one", () => {
    fc.assert(
      fc.property(ops, (list) => {
        for (const [state, model] of run(list)) {
          const hidden = state.hidden.flatMap(({ from, to }) =>
            Array.from({ length: to - from + 1 }, (_, i) => `${state.self}/${from + i}`),
          );
          expect(new Set(hidden)).toEqual(model.hidden);
          expect(hidden.filter((name) => model.shown.includes(name))).toEqual([]);
          for (const [i, range] of state.hidden.slice(1).entries()) {
            expect(range.from).toBeGreaterThan((state.hidden[i]?.to ?? 0) + 1);
          }
        }
      }),
    );
  });

  it("can revert every operation", () => {
    fc.assert(
      fc.property(ops, fc.nat(9), (list, n) => {
        for (const [state] of run(list)) {
          const before = listShownPieces(state);
          const changes = [
            appendToView(state, n),
            cutView(state, n),
            rewriteView(state, n),
            compressView(state, n),
          ];
          for (const changed of changes)
            expect(listShownPieces(restoreView(changed, before))).toEqual(before);
          expect(restoreView(cutView(state, n), before)).toEqual(restoreView(state, before));
        }
      }),
    );
  });

  it("has consistent positions of messages", () => {
    fc.assert(
      fc.property(ops, (list) => {
        for (const [state] of run(list)) {
          for (let i = 0; i < countShown(state); i++) {
            const message = findMessageAt(state, i);
            expect(message && findPosition(state, message.session, message.seq)).toBe(i);
          }
          expect(findMessageAt(state, countShown(state))).toBeUndefined();
        }
      }),
    );
  });
});

/** Frozen states prove that no operation changes its input. */
function run(list: readonly Op[]): (readonly [ViewState, Model])[] {
  const sessions: [ViewState, Model, ViewState[]][] = [
    [freeze(createView(1)), { self: 1, next: 1, shown: [], hidden: new Set() }, []],
  ];
  for (const { op, on, n } of list) {
    const entry = sessions[on % sessions.length];
    if (entry === undefined) continue;
    const [state, model, versions] = entry;
    versions.push(state);
    if (op === "fork") {
      const self = sessions.length + 1;
      const shown = model.shown.slice(0, n);
      sessions.push([freeze(forkView(state, self, n)), { self, next: 1, shown, hidden: new Set() }, []]);
    } else if (op === "append") {
      entry[0] = freeze(appendToView(state, n));
      model.shown.push(...nameMessages(model, n));
    } else if (op === "rewrite") {
      entry[0] = freeze(rewriteView(state, n));
      show(model, nameMessages(model, n));
    } else if (op === "cut") {
      entry[0] = freeze(cutView(state, n));
      show(model, model.shown.slice(0, n));
    } else if (op === "compress") {
      entry[0] = freeze(compressView(state, n));
      model.shown = [...nameMessages(model, 1), ...(n === 0 ? [] : model.shown.slice(-n))];
    } else {
      const version = versions[n % versions.length] ?? state;
      entry[0] = freeze(restoreView(state, listShownPieces(version)));
      show(model, names(version));
    }
  }
  return sessions.map(([state, model]) => [state, model] as const);
}

function nameMessages(model: Model, count: number): string[] {
  return Array.from({ length: count }, () => `${model.self}/${model.next++}`);
}

function show(model: Model, shown: string[]): void {
  const own = (name: string): boolean => name.startsWith(`${model.self}/`);
  for (const name of model.shown.filter(own)) model.hidden.add(name);
  for (const name of shown) model.hidden.delete(name);
  model.shown = shown;
}

function names(state: ViewState): string[] {
  return listShownPieces(state).flatMap(({ session, from, to }) =>
    Array.from({ length: to - from + 1 }, (_, i) => `${session}/${from + i}`),
  );
}

function freeze(state: ViewState): ViewState {
  for (const piece of state.pieces) Object.freeze(piece);
  Object.freeze(state.pieces);
  Object.freeze(state.hidden);
  return Object.freeze(state);
}
