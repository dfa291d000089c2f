import { hostname } from "node:os";
import type { AccountName } from "../../../core/access.ts";
import type { Store } from "../../../ports/store.ts";
import { setSetting } from "../../config/edit-file.ts";
import { readLayers } from "../../config/layers.ts";
import { onEndSignals } from "../../end-signals.ts";
import { seenGateway } from "../../gateway-lease.ts";
import { apiRootFrom } from "../../platforms-from-config.ts";
import { type Command, defineCommand, JSON_OPTION } from "../command.ts";
import { placeOf } from "../config/here.ts";
import { type Io, note, say, sayJson } from "../io.ts";
import { withStore } from "../opening.ts";
import { type Guide, guideFor } from "./guide.ts";
import { greet, linkedAccount, type OpenLink, openLink, ownAccounts } from "./linking.ts";
import { tokenFrom } from "./token.ts";

/** How long a person may look for their phone. */
const PATIENCE_SECONDS = 600;
/** The gateway that runs for the moment may have an answer to finish. */
const STOP_LIMIT_MS = 45_000;

export const connectTelegram: Command = defineCommand({
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
      help: `wait so long until the code is used (default ${PATIENCE_SECONDS} in a terminal, else 0)`,
    },
    yes: { type: "flag", short: "y", help: "replace another bot's token without asking" },
    json: JSON_OPTION,
  },
  examples: [
    ["postrider connect telegram", "step by step"],
    ["postrider connect telegram --token-file - --wait 300 < token.txt", "from a script"],
  ],
  async run({ values }, io) {
    const guide = await guideFor(io, values.json);
    guide.begin("Postrider and Telegram");
    const { values: known } = readLayers(placeOf(io));
    const before = known.get("platforms.telegram.token");
    const inFile = before?.origin.from === "file" ? String(before.value) : undefined;
    const token = await tokenFrom(io, guide, {
      token: values.token,
      file: values["token-file"],
      known: inFile,
    });
    const { checkToken } = await import("../../../platforms/telegram/check-token.ts");
    const bot = await guide.during(
      "Asking Telegram who this is",
      checkToken({ token, ...apiRootFrom(io.environment) }),
    );
    const isOther = inFile !== undefined && inFile !== token;
    const question = `Another bot is set up. Replace it with @${bot.username}?`;
    if (isOther && !values.yes && !(await guide.agree(question))) return 1;
    const { file, changed } = keep(io, token);
    guide.tell(`@${bot.username} is set up; its token is in ${file}, readable by you alone.`);
    if (io.environment.TELEGRAM_BOT_TOKEN && io.environment.TELEGRAM_BOT_TOKEN.trim() !== token)
      guide.tell("The variable TELEGRAM_BOT_TOKEN is set to another token, and comes before the file.");
    const seconds = values.wait ?? (guide.isPerson ? PATIENCE_SECONDS : 0);
    const linked = await withStore(io, (open) =>
      link({
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
      sayJson(io, {
        platform: "telegram",
        account: bot.id,
        username: bot.username,
        file,
        changed,
        gateway_running: linked.isRunning,
        link: linked.json,
      });
    } else if (!guide.isPerson) say(io, `https://t.me/${bot.username}`);
    return 0;
  },
});

/** A platform that was switched off is on again. */
function keep(io: Io, token: string): { readonly file: string; readonly changed: boolean } {
  const place = placeOf(io);
  const edited = setSetting(place.home, "platforms.telegram.token", token);
  const enabled = readLayers(place).values.get("platforms.telegram.enabled");
  if (enabled?.value !== false) return edited;
  setSetting(place.home, "platforms.telegram.enabled", "true");
  return { file: edited.file, changed: true };
}

interface LinkOptions {
  readonly io: Io;
  readonly guide: Guide;
  readonly store: Store;
  readonly bot: { readonly id: string; readonly username: string };
  readonly seconds: number;
  readonly isWanted: boolean;
  readonly isAgain: boolean;
}

interface Linked {
  /** Whether a gateway runs that was not ours. */
  readonly isRunning: boolean;
  readonly json: Record<string, unknown> | null;
}

async function link(options: LinkOptions): Promise<Linked> {
  const { guide, store, bot, seconds, isWanted, isAgain } = options;
  const gateway = await seenGateway(store, Date.now());
  const isRunning = gateway !== undefined;
  if (!isWanted) return { isRunning, json: null };
  const [own] = await ownAccounts(store);
  if (own !== undefined && !isAgain) {
    guide.tell(`Your account ${nameOf(own)} is linked already: talk to it at https://t.me/${bot.username}`);
    return { isRunning, json: null };
  }
  const made = await openLink(store);
  const url = `https://t.me/${bot.username}?start=${made.code}`;
  guide.tell(`Make your Telegram account the owner's. Open this and press Start, within an hour:
  ${url}
or write this to @${bot.username}:
  /pair ${made.code}`);
  const knowsBot = gateway?.connections.some(
    ({ platform, account }) => platform === "telegram" && account === bot.id,
  );
  let account: AccountName | undefined;
  if (isRunning && !knowsBot)
    guide.tell("A gateway runs that does not know this bot yet. Restart it, and then give the code.");
  else if (seconds > 0) account = await waitForIt(options, made, isRunning);
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
async function waitForIt(
  { io, guide, store, bot, seconds }: LinkOptions,
  made: OpenLink,
  isRunning: boolean,
): Promise<AccountName | undefined> {
  const stopping = new AbortController();
  const stop = (): void => stopping.abort();
  const forgetSignals = onEndSignals(stop, {
    signals: ["SIGINT", "SIGTERM"],
    limitMs: STOP_LIMIT_MS,
  });
  const { openGateway } = await import("../gateway/open-gateway.ts");
  const own = isRunning ? undefined : await openGateway(io, { isShown: false });
  try {
    guide.tell("Waiting for the code … (Ctrl-C leaves; the code stays good)");
    const account = await linkedAccount(store, made, {
      ms: seconds * 1000,
      signal: stopping.signal,
      state: (words) => {
        if (words !== "connecting" && words !== "connected") guide.tell(words);
      },
    });
    if (account === undefined) {
      guide.tell("The code was not used yet. It can be, as soon as postrider gateway run runs.");
      return undefined;
    }
    guide.tell(`Linked: ${nameOf(account)} is you.`);
    const when = isRunning ? "" : " I answer while postrider gateway run runs there.";
    await greet(store, account, `Hello from ${hostname()}. I am ready.${when}`);
    return account;
  } finally {
    await own?.gateway.stop();
    own?.close();
    forgetSignals();
    if (stopping.signal.aborted) note(io, `Later: write /pair ${made.code} to @${bot.username}.`);
  }
}

function nameOf({ name, userId = "" }: AccountName): string {
  return name === undefined ? userId : `${name} (${userId})`;
}
