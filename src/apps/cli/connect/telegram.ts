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

/** The default time to use the code. */
const LINK_TIMEOUT_SECONDS = 600;
/** The temporary gateway may still finish an answer. */
const STOP_LIMIT_MS = 45_000;

export const connectTelegramCommand: Command = defineCommand({
  name: "connect telegram",
  about: `Sets up a Telegram bot: checks its token, stores it in the home's config.yaml, and creates a code that links your
Telegram account to you as the owner. In a terminal it asks step by step; scripts use the options.`,
  options: {
    token: {
      type: "text",
      value: "TOKEN",
      help: "the bot's token; other users of this machine can see it, so prefer:",
    },
    "token-file": { type: "text", value: "FILE", help: "a file with the token; - reads stdin" },
    link: { type: "flag", help: "create a code even if an account of yours is linked" },
    "no-link": { type: "flag", help: "create no code" },
    wait: {
      type: "count",
      value: "SECONDS",
      help: `wait until the code is used (default: ${LINK_TIMEOUT_SECONDS} in a terminal, otherwise 0)`,
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
      "Checking the token with Telegram",
      checkToken({ token, ...readApiRoot(io.environment) }),
    );
    const isOther = inFile !== undefined && inFile !== token;
    const question = `Another bot is set up. Replace it with @${bot.username}?`;
    if (isOther && !values.yes && !(await guide.askConfirmation(question))) return 1;
    const { file, changed } = saveToken(io, token);
    guide.show(`@${bot.username} is set up. Its token is in ${file}, which only you can read.`);
    if (io.environment.TELEGRAM_BOT_TOKEN && io.environment.TELEGRAM_BOT_TOKEN.trim() !== token)
      guide.show("The environment variable TELEGRAM_BOT_TOKEN has another token and overrides the file.");
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
    const next = linked.isRunning ? "The gateway is running." : "Next: postrider gateway run (or install).";
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

/** Enables the platform again if it was disabled. */
function saveToken(io: Io, token: string): { readonly file: string; readonly changed: boolean } {
  const location = locateConfig(io);
  const edited = setSetting(location.home, "platforms.telegram.token", token);
  const enabled = readLayers(location).values.get("platforms.telegram.enabled");
  if (enabled?.value !== false) return edited;
  setSetting(location.home, "platforms.telegram.enabled", "true");
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
  /** Whether another process runs a gateway. */
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
      `Your account ${formatAccountName(own)} is already linked. Write to the bot: https://t.me/${bot.username}`,
    );
    return { isRunning, json: null };
  }
  const made = await createLink(store);
  const url = `https://t.me/${bot.username}?start=${made.code}`;
  guide.show(`Link your Telegram account. Within an hour, open this and press Start:
  ${url}
or send this to @${bot.username}:
  /pair ${made.code}`);
  const knowsBot = gateway?.connections.some(
    ({ platform, account }) => platform === "telegram" && account === bot.id,
  );
  let account: AccountName | undefined;
  if (isRunning && !knowsBot)
    guide.show("The running gateway does not know this bot yet. Restart it, then use the code.");
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

/** Starts a temporary gateway when none runs, because only a gateway receives the code. */
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
    guide.show("Waiting for the code … (Ctrl-C exits; the code stays valid)");
    const account = await waitForLinkedAccount(store, made, {
      ms: seconds * 1000,
      signal: stopping.signal,
      onState: (words) => {
        if (words !== "connecting" && words !== "connected") guide.show(words);
      },
    });
    if (account === undefined) {
      guide.show("The code was not used yet. Start postrider gateway run, then use it.");
      return undefined;
    }
    guide.show(`Linked: ${formatAccountName(account)} is your account.`);
    const when = isRunning ? "" : " I answer while postrider gateway run is running there.";
    await sendGreeting(store, account, `Hello from ${hostname()}. I am ready.${when}`);
    return account;
  } finally {
    await own?.gateway.stop();
    own?.close();
    forgetSignals();
    if (stopping.signal.aborted)
      printNotice(io, `To link it later, send /pair ${made.code} to @${bot.username}.`);
  }
}

function formatAccountName({ name, userId = "" }: AccountName): string {
  return name === undefined ? userId : `${name} (${userId})`;
}
