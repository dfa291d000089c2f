import type { DangerRule } from "./danger-rule.ts";
import type { ProgramCall } from "./program-call.ts";

/** Commands of Postrider that reveal no data. The others refuse to run below an agent's tool anyway. */
const HARMLESS_COMMANDS: readonly (readonly string[])[] = [["gateway", "status"], ["help"]];
/** The first words of its commands, to recognize them after `npm start --`. */
const COMMANDS =
  /^(?:connect|gateway|tail|acp|backup|restore|doctor|export-person|erase|sessions|processes|explain|key|pair|config|import|uninstall|reset)$/;

/** Only people administer Postrider: an agent's call needs an approval, unless it is harmless. */
export const OWN_RULES: readonly DangerRule[] = [
  {
    kind: "postrider-command",
    why: "runs a Postrider command",
    matches: (call) => {
      const words = findPostriderArguments(call);
      return words !== undefined && !isHarmlessCommand(words);
    },
  },
];

/** The arguments of Postrider, if the call runs it. */
function findPostriderArguments(call: ProgramCall): readonly string[] | undefined {
  const { program, argTexts, operands, path } = call;
  if (isPostriderProgram(path)) return argTexts;
  if (/^(?:node|nodejs|bun|deno|tsx|ts-node)$/.test(program)) {
    const script = argTexts.findIndex(isPostriderProgram);
    return script < 0 ? undefined : argTexts.slice(script + 1);
  }
  if (!/^(?:npm|pnpm|yarn|npx|bunx|pnpx|bun)$/.test(program)) return undefined;
  const named = argTexts.findIndex((arg) => /^(?:@[\w-]+\/)?postrider(?:@[\w.^~-]*)?$/.test(arg));
  const isInstalled = /^(?:install|i|add|update|view|info|uninstall|remove|ci)$/.test(operands[0] ?? "");
  if (named >= 0) return isInstalled ? undefined : argTexts.slice(named + 1);
  const isStart = operands[0] === "start" || (/^run/.test(operands[0] ?? "") && operands[1] === "start");
  const rest = isStart ? operands.slice(operands.indexOf("start") + 1) : [];
  return COMMANDS.test(rest[0] ?? "") ? rest : undefined;
}

function isPostriderProgram(path: string): boolean {
  return (
    /(?:^|\/)postrider(?:@[\w.^~-]*|\.m?[jt]s|\.cmd|\.exe)?$/i.test(path) ||
    /(?:^|\/)apps\/(?:cli\/main|cli\/cli|main|keeper|cli)\.[jt]s$/.test(path)
  );
}

function isHarmlessCommand(words: readonly string[]): boolean {
  // Without a command it is the chat, which acts as the owner.
  if (words.length === 0) return false;
  if (words.every((word) => /^(?:--help|-h|--version|-V|-v)$/.test(word))) return true;
  const isKnown = words.every((word) => /^(?:\w[\w-]*|--json|--help|--limit(?:=\d+)?)$/.test(word));
  const operands = words.filter((word) => !word.startsWith("-") && !/^\d+$/.test(word));
  if (words.includes("--help")) return isKnown;
  return (
    isKnown &&
    HARMLESS_COMMANDS.some(
      (shown) => shown.length === operands.length && shown.every((word, at) => word === operands[at]),
    )
  );
}
