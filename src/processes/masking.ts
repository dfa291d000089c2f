/** What stands where a secret was. */
export const SECRET_PLACEHOLDER = "[secret]";
/** Shorter ones are no secrets but placeholders, such as the key of a server that wants none. */
const SHORTEST = 8;
/** So much of what may be the beginning of a secret is shown when nothing more comes. It gives nothing away. */
const SHOWN_BEGINNING = 3;

/** Takes secrets out of a text. The longest that begins at a place is the one that is meant. */
export function createSecretMask(secrets: readonly string[]): (text: string) => string {
  const forms = listSecretForms(secrets);
  if (forms.length === 0) return (text) => text;
  const pattern = buildPattern(forms);
  return (text) => text.replaceAll(pattern, SECRET_PLACEHOLDER);
}

/** The same for a text that comes in pieces: however it is cut, the same comes out. */
export interface StreamMask {
  /** What of it can be shown by now. What may be the beginning of a secret is held back. */
  take(text: string): string;
  /** Nothing has come for a while: the first characters of what is held back, and never more of them. */
  idle(): string;
  /** The rest. */
  end(): string;
  /** What is held back, and how many characters of it have been shown already. */
  held(): { readonly text: string; readonly shown: number };
}

/** `shown` characters of what comes first have been shown already, by another mask that held them back. */
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
  /** How many characters of `held` have been shown already. */
  let shown = alreadyShown;

  function take(given: string, isLast: boolean): string {
    const text = held + given;
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
      const upTo = Math.min(SHOWN_BEGINNING, held.length);
      const more = held.slice(shown, upTo);
      shown = Math.max(shown, upTo);
      return more;
    },
    end: () => take("", true),
    held: () => ({ text: held, shown }),
  };
}

/** From where on the text may be the beginning of a secret that goes on behind its end. */
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

/** The ways in which secrets may be written, the longest first: one may be a part of another. */
export function listSecretForms(secrets: readonly string[]): readonly string[] {
  return [...new Set(secrets.flatMap(listFormsOfSecret))].toSorted((a, b) => b.length - a.length);
}

/** Also in JSON, in an address, and on a terminal. Of a bot's token, what follows the bot's id is the secret. */
function listFormsOfSecret(given: string): readonly string[] {
  const secret = given.trim();
  const [, behind = ""] = /^\d+:(.+)$/s.exec(secret) ?? [];
  return [secret, behind]
    .filter((part) => part.length >= SHORTEST)
    .flatMap((part) => {
      const json = JSON.stringify(part).slice(1, -1);
      const inTerminal = part.replaceAll(/\r?\n/g, "\r\n");
      const inAddress = encodeURIComponent(part.toWellFormed());
      return [part, json, JSON.stringify(json).slice(1, -1), inAddress, inTerminal];
    });
}
