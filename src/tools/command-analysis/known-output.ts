import type { ShellScript, SimpleCommand } from "./shell-script.ts";

/** Programs whose output is made for `eval`, with the argument that requests it. */
const GENERATORS: Readonly<Record<string, RegExp | undefined>> = {
  kubectl: /^completion$/,
  helm: /^completion$/,
  gh: /^completion$/,
  docker: /^completion$/,
  minikube: /^(?:completion|docker-env)$/,
  npm: /^completion$/,
  rustup: /^completions$/,
  "ssh-agent": /^-[sc]$/,
  direnv: /^(?:hook|export)$/,
  brew: /^shellenv$/,
  starship: /^init$/,
  zoxide: /^init$/,
  rbenv: /^init$/,
  pyenv: /^init$/,
  nodenv: /^init$/,
  mise: /^(?:activate|env)$/,
  fnm: /^env$/,
  opam: /^env$/,
  dircolors: /^-b$/,
};
/** Programs that print one plain word or number. */
const TOKENS: ReadonlySet<string> = new Set(
  "date pwd id whoami uname hostname nproc arch tty logname basename dirname realpath getconf mktemp seq wc".split(
    " ",
  ),
);

export function isGenerator(script: ShellScript): boolean {
  const step = getOnlyCommand(script);
  const [program = "", first = ""] = step?.words.map(({ text }) => text) ?? [];
  const wanted = Object.hasOwn(GENERATORS, program) ? GENERATORS[program] : undefined;
  return wanted?.test(first) ?? false;
}

/** Whether the output is a plain word that is safe in a command. */
export function isToken(script: ShellScript): boolean {
  const words = getOnlyCommand(script)?.words ?? [];
  const isPlain = words.every(({ text, unknown }) => unknown !== "made" && /^[-+%\w./:~$]*$/.test(text));
  return isPlain && TOKENS.has(words[0]?.text ?? "");
}

function getOnlyCommand(script: ShellScript): SimpleCommand | undefined {
  const [line] = script;
  const [member] = line?.members ?? [];
  if (script.length !== 1 || line?.members.length !== 1 || member === undefined || "body" in member)
    return undefined;
  return member.assignments.length === 0 ? member : undefined;
}
