import { hostname } from "node:os";
import type { AccountName } from "../../../core/access.ts";
import type { Store } from "../../../ports/store.ts";
import { setSetting } from "../../config/edit-file.ts";
import { readLayers } from "../../config/layers.ts";
import { findRunningGateway } from "../../gateway-lease.ts";
import { readApiRoot } from "../../load-platforms.ts";
import { onShutdownSignals } from "../../shutdown-signals.ts";
import { type Command, defineCommand, JSON_OPTION } from "../command.ts";
import { locateConfig } from "../config/local-config.ts";
import { type Io, printJson, printLine, printNotice } from "../io.ts";
import { withStore } from "../open-home.ts";
import { createGuide, type SetupGuide } from "./guide.ts";
import {
  createLink,
  listOwnAccounts,
  type PendingLink,
  sendGreeting,
  waitForLinkedAccount,
} from "./link-account.ts";
import { resolveToken } from "./token.ts";

/** How long a person may look for their phone. */
const LINK_TIMEOUT_SECONDS = 600;
/** The gateway that runs for the moment may have an answer to finish. */
const STOP_LIMIT_MS = 45_000;

export const connectTelegramCommand: Command = defineCommand({
  name: "connect telegram",
  about: `Sets up a Telegram bot: checks its token, keeps it in the home's config.yaml, and makes your Telegram account the
owner's with a code that you give the bot. In a terminal it guides you; a script says everything with options.`,
  options: {
    token: {
      type: "text",
      value: "TOKEN",
      help: "the bot's token; others on this machine can see it, so rather:",
    },
    "token-file": { type: "text", value: "FILE", help: "a file with the token; - reads stdin" },
    link: { type: "flag", help: "make a code although an account of yours is linked" },
    "no-link": { type: "flag", help: "make no code" },
    wait: {
      type: "count",
      value: "SECONDS",
      help: `wait so long until the code is used (default ${LINK_TIMEOUT_SECONDS} in a terminal, else 0)`,
    },
    yes: { type: "flag", short: "y", help: "replace another bot's token without asking" },
    json: JSON_OPTION,
  },
  examples: [
    ["postrider connect telegram", "step by step"],
    ["postrider connect telegram --token-file - --wait 300 < token.txt", "from a script"],
  ],
  async run({ values }, io) {
    const guide = await createGuide(io, values.json);
    guide.start("Postrider and Telegram");
    const { values: known } = readLayers(locateConfig(io));
    const before = known.get("platforms.telegram.token");
    const inFile = before?.origin.from === "file" ? String(before.value) : undefined;
    const token = await resolveToken(io, guide, {
      token: values.token,
      file: values["token-file"],
      known: inFile,
    });
    const { checkToken } = await import("../../../platforms/telegram/check-token.ts");
    const bot = await guide.showProgress(
      "Asking Telegram who this is",
      checkToken({ token, ...readApiRoot(io.environment) }),
    );
    const isOther = inFile !== undefined && inFile !== token;
    const question = `Another bot is set up. Replace it with @${bot.username}?`;
    if (isOther && !values.yes && !(await guide.askConfirmation(question))) return 1;
    const { file, changed } = saveToken(io, token);
    guide.show(`@${bot.username} is set up; its token is in ${file}, readable by you alone.`);
    if (io.environment.TELEGRAM_BOT_TOKEN && io.environment.TELEGRAM_BOT_TOKEN.trim() !== token)
      guide.show("The variable TELEGRAM_BOT_TOKEN is set to another token, and comes before the file.");
    const seconds = values.wait ?? (guide.isInteractive ? LINK_TIMEOUT_SECONDS : 0);
    const linked = await withStore(io, (open) =>
      linkOwner({
        io,
        guide,
        store: open.store,
        bot,
        seconds,
        isWanted: !values["no-link"],
        isAgain: values.link,
      }),
    );
    const next = linked.isRunning ? "The gateway runs already." : "Next: postrider gateway run (or install).";
    guide.end(next);
    if (values.json) {
      printJson(io, {
        platform: "telegram",
        account: bot.id,
        username: bot.username,
        file,
        changed,
        gateway_running: linked.isRunning,
        link: linked.json,
      });
    } else if (!guide.isInteractive) printLine(io, `https://t.me/${bot.username}`);
    return 0;
  },
});

/** A platform that was switched off is on again. */
function saveToken(io: Io, token: string): { readonly file: string; readonly changed: boolean } {
  const place = locateConfig(io);
  const edited = setSetting(place.home, "platforms.telegram.token", token);
  const enabled = readLayers(place).values.get("platforms.telegram.enabled");
  if (enabled?.value !== false) return edited;
  setSetting(place.home, "platforms.telegram.enabled", "true");
  return { file: edited.file, changed: true };
}

interface LinkOptions {
  readonly io: Io;
  readonly guide: SetupGuide;
  readonly store: Store;
  readonly bot: { readonly id: string; readonly username: string };
  readonly seconds: number;
  readonly isWanted: boolean;
  readonly isAgain: boolean;
}

interface LinkResult {
  /** Whether a gateway runs that was not ours. */
  readonly isRunning: boolean;
  readonly json: Record<string, unknown> | null;
}

async function linkOwner(options: LinkOptions): Promise<LinkResult> {
  const { guide, store, bot, seconds, isWanted, isAgain } = options;
  const gateway = await findRunningGateway(store, Date.now());
  const isRunning = gateway !== undefined;
  if (!isWanted) return { isRunning, json: null };
  const [own] = await listOwnAccounts(store);
  if (own !== undefined && !isAgain) {
    guide.show(
      `Your account ${formatAccountName(own)} is linked already: talk to it at https://t.me/${bot.username}`,
    );
    return { isRunning, json: null };
  }
  const made = await createLink(store);
  const url = `https://t.me/${bot.username}?start=${made.code}`;
  guide.show(`Make your Telegram account the owner's. Open this and press Start, within an hour:
  ${url}
or write this to @${bot.username}:
  /pair ${made.code}`);
  const knowsBot = gateway?.connections.some(
    ({ platform, account }) => platform === "telegram" && account === bot.id,
  );
  let account: AccountName | undefined;
  if (isRunning && !knowsBot)
    guide.show("A gateway runs that does not know this bot yet. Restart it, and then give the code.");
  else if (seconds > 0) account = await waitForCode(options, made, isRunning);
  return {
    isRunning,
    json: {
      code: made.code,
      url,
      expires_at: made.expiresAt,
      used: account !== undefined,
      user_id: account?.userId ?? null,
      user_name: account?.name ?? null,
    },
  };
}

/** Without a gateway nobody would hear the code: one runs for the moment. */
async function waitForCode(
  { io, guide, store, bot, seconds }: LinkOptions,
  made: PendingLink,
  isRunning: boolean,
): Promise<AccountName | undefined> {
  const stopping = new AbortController();
  const stop = (): void => stopping.abort();
  const forgetSignals = onShutdownSignals(stop, {
    signals: ["SIGINT", "SIGTERM"],
    limitMs: STOP_LIMIT_MS,
  });
  const { openGateway } = await import("../gateway/open-gateway.ts");
  const own = isRunning ? undefined : await openGateway(io, { showsLog: false });
  try {
    guide.show("Waiting for the code … (Ctrl-C leaves; the code stays good)");
    const account = await waitForLinkedAccount(store, made, {
      ms: seconds * 1000,
      signal: stopping.signal,
      onState: (words) => {
        if (words !== "connecting" && words !== "connected") guide.show(words);
      },
    });
    if (account === undefined) {
      guide.show("The code was not used yet. It can be, as soon as postrider gateway run runs.");
      return undefined;
    }
    guide.show(`Linked: ${formatAccountName(account)} is you.`);
    const when = isRunning ? "" : " I answer while postrider gateway run runs there.";
    await sendGreeting(store, account, `Hello from ${hostname()}. I am ready.${when}`);
    return account;
  } finally {
    await own?.gateway.stop();
    own?.close();
    forgetSignals();
    if (stopping.signal.aborted) printNotice(io, `Later: write /pair ${made.code} to @${bot.username}.`);
  }
}

function formatAccountName({ name, userId = "" }: AccountName): string {
  return name === undefined ? userId : `${name} (${userId})`;
}
