import { describe, expect, it } from "vitest";
import { buildEndMark, createEndMarkFilter } from "./end-mark.ts";

const ID = "proc_0123456789ab";

describe("the mark after the output of a command", () => {
  it("is removed with all text after it, however the output is cut", () => {
    const printed = `one \x1e two \x1eproc_0123 three\x1e`;
    const all = `${printed}${buildEndMark(ID)}output of a remaining child`;
    for (let size = 1; size <= all.length; size += 1) {
      const filter = createEndMarkFilter(ID);
      let text = "";
      let isEnd = false;
      for (let at = 0; at < all.length && !isEnd; at += size) {
        const shown = filter(all.slice(at, at + size));
        text += shown.text;
        isEnd = shown.isEnd;
        if (!isEnd) expect(text.length + shown.held).toBe(Math.min(at + size, all.length));
      }
      expect([text, isEnd]).toEqual([printed, true]);
    }
  });

  it("counts as output if it belongs to another process", () => {
    const other = buildEndMark("proc_ffffffffffff");
    expect(createEndMarkFilter(ID)(`${other}.`)).toEqual({ text: `${other}.`, held: 0, isEnd: false });
  });
});
