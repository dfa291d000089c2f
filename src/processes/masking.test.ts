import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { createSecretMask, createStreamMask, SECRET_PLACEHOLDER } from "./masking.ts";

/** Few letters, so that secrets overlap and the text often contains the start of one. */
const letters = fc.constantFrom("a", "b", "ab", "aab", "-", "🙂", "\n");
const text = fc.array(letters, { maxLength: 80 }).map((parts) => parts.join(""));
const secret = fc.array(letters, { minLength: 4, maxLength: 14 }).map((parts) => parts.join(""));
/** A text with secrets, and the positions of its cuts. */
const cutText = fc
  .record({
    secrets: fc.array(secret, { maxLength: 4 }),
    parts: fc.array(text, { maxLength: 5 }),
    cuts: fc.array(fc.nat(400), { maxLength: 20 }),
  })
  .map(({ secrets, parts, cuts }) => {
    const whole = parts
      .map((part, index) => part + (secrets[index % Math.max(1, secrets.length)] ?? ""))
      .join("");
    const at = [...new Set(cuts.filter((cut) => cut < whole.length))].toSorted((a, b) => a - b);
    return { secrets, whole, pieces: [0, ...at].map((from, index) => whole.slice(from, at[index])) };
  });

describe("masking the output of a process", () => {
  it("gives the same result for any cut of any text", () => {
    fc.assert(
      fc.property(cutText, ({ secrets, whole, pieces }) => {
        const mask = createStreamMask(secrets);
        const out = [...pieces.map(mask.take), mask.end()].join("");
        expect(out).toBe(createSecretMask(secrets)(whole));
      }),
      { numRuns: 2000 },
    );
  });

  it("shows at most three characters of a secret, however long a process waits in the middle of it", () => {
    fc.assert(
      fc.property(fc.nat(22), fc.nat(22), (first, second) => {
        const secret = "0123456789abcdefghijklm";
        const mask = createStreamMask([secret]);
        const [a, b] = [Math.min(first, second), Math.max(first, second)];
        const pieces = [`x${secret.slice(0, a)}`, secret.slice(a, b), `${secret.slice(b)}y`];
        const out = pieces.map((piece) => mask.take(piece) + mask.idle() + mask.idle()).join("");
        expect(out).toMatch(/^x(0|01|012)?\[secret\]y$/);
      }),
    );
  });

  it("shows text at once if it cannot be part of a secret, and soon if it only resembles the beginning", () => {
    const mask = createStreamMask(["password-of-mine"]);
    expect(mask.take("Continue? [y/n] ")).toBe("Continue? [y/n] ");
    expect(mask.take("stop")).toBe("sto");
    expect(mask.idle()).toBe("p");
    expect(mask.idle()).toBe("");
    expect(mask.take("!")).toBe("!");
    expect(mask.end()).toBe("");
  });

  it("masks a secret in JSON, in a URL and on a terminal, and a bot token without its id", () => {
    const masked = createSecretMask(['quote"and/slash', "line one\nline two", "123456:ABC-token-of-bot"]);
    expect(masked(JSON.stringify('quote"and/slash'))).toBe(`"${SECRET_PLACEHOLDER}"`);
    expect(masked(encodeURIComponent('quote"and/slash'))).toBe(SECRET_PLACEHOLDER);
    expect(masked("line one\r\nline two")).toBe(SECRET_PLACEHOLDER);
    expect(masked("bot ABC-token-of-bot")).toBe(`bot ${SECRET_PLACEHOLDER}`);
  });
});
