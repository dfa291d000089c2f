/** Replaces a secret in a text. */
export const SECRET_PLACEHOLDER = "[secret]";
/** Shorter values are no secrets but placeholders, such as the key of a server that needs none. */
const MIN_SECRET_LENGTH = 8;
/** This many characters of a possible secret are shown when no more output comes. They reveal nothing. */
const SHOWN_PREFIX_LENGTH = 3;

/** Replaces secrets in a text. Of several secrets at one position, the longest counts. */
export function createSecretMask(secrets: readonly string[]): (text: string) => string {
  const forms = listSecretForms(secrets);
  if (forms.length === 0) return (text) => text;
  const pattern = buildPattern(forms);
  return (text) => text.replaceAll(pattern, SECRET_PLACEHOLDER);
}

/** The same for a text that comes in pieces: the result does not depend on the cuts. */
export interface StreamMask {
  /** Returns the text that can be shown now. A suffix that may begin a secret is held back. */
  take(text: string): string;
  /** No output for a while: returns the first characters that are held back, and never more of them. */
  idle(): string;
  /** Returns the rest. */
  end(): string;
  /** The text that is held back, and how many characters of it are shown already. */
  held(): { readonly text: string; readonly shown: number };
}

/** `alreadyShown` characters of the first text were shown by another mask that held them back. */
export function createStreamMask(secrets: readonly string[], alreadyShown = 0): StreamMask {
  const forms = listSecretForms(secrets);
  if (forms.length === 0)
    return {
      take: (text) => text,
      idle: () => "",
      end: () => "",
      held: () => ({ text: "", shown: 0 }),
    };
  const pattern = buildPattern(forms);
  let held = "";
  /** How many characters of `held` are shown already. */
  let shown = alreadyShown;

  function take(piece: string, isLast: boolean): string {
    const text = held + piece;
    let [out, at, before] = ["", 0, shown];
    let hold = isLast ? text.length : findSecretStart(text, 0, forms);
    for (;;) {
      pattern.lastIndex = at;
      const found = pattern.exec(text);
      if (found === null || found.index >= hold) break;
      out += text.slice(at + before, found.index) + SECRET_PLACEHOLDER;
      before = 0;
      at = found.index + found[0].length;
      if (at > hold) hold = isLast ? text.length : findSecretStart(text, at, forms);
    }
    out += text.slice(at + before, hold);
    held = text.slice(hold);
    shown = Math.max(0, at + before - hold);
    return out;
  }

  return {
    take: (text) => take(text, false),
    idle() {
      const upTo = Math.min(SHOWN_PREFIX_LENGTH, held.length);
      const more = held.slice(shown, upTo);
      shown = Math.max(shown, upTo);
      return more;
    },
    end: () => take("", true),
    held: () => ({ text: held, shown }),
  };
}

/** The first position from which the text may be the beginning of a longer secret. */
function findSecretStart(text: string, from: number, forms: readonly string[]): number {
  const longest = forms[0]?.length ?? 0;
  for (let at = Math.max(from, text.length - longest + 1); at < text.length; at += 1) {
    const rest = text.length - at;
    if (forms.some((form) => form.length > rest && text.startsWith(form.slice(0, rest), at))) return at;
  }
  return text.length;
}

function buildPattern(forms: readonly string[]): RegExp {
  return new RegExp(forms.map((form) => form.replaceAll(/[.*+?^${}()|[\]\\/-]/g, "\\$&")).join("|"), "g");
}

/** All written forms of the secrets, longest first: one can be part of another. */
export function listSecretForms(secrets: readonly string[]): readonly string[] {
  return [...new Set(secrets.flatMap(listFormsOfSecret))].toSorted((a, b) => b.length - a.length);
}

/** A secret as text, as JSON, in a URL and on a terminal. The secret of a bot token is the part after the bot's id. */
function listFormsOfSecret(value: string): readonly string[] {
  const secret = value.trim();
  const [, afterId = ""] = /^\d+:(.+)$/s.exec(secret) ?? [];
  return [secret, afterId]
    .filter((part) => part.length >= MIN_SECRET_LENGTH)
    .flatMap((part) => {
      const json = JSON.stringify(part).slice(1, -1);
      const inTerminal = part.replaceAll(/\r?\n/g, "\r\n");
      const inUrl = encodeURIComponent(part.toWellFormed());
      return [part, json, JSON.stringify(json).slice(1, -1), inUrl, inTerminal];
    });
}
