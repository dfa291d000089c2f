import { startControlledTelegram } from "../../src/testing/fake-telegram/index.ts";

/**
 * A fake Telegram in a separate process: `node fake-telegram-process.ts [token username]…`. Prints its URLs on one line and
 * runs until it is killed or its input ends.
 */
const [, , ...names] = process.argv;
const accounts = [];
for (let at = 0; at + 1 < names.length; at += 2) {
  accounts.push({ token: names[at] ?? "", username: names[at + 1] ?? "" });
}
const { fake, controlUrl, close } = await startControlledTelegram(accounts.length === 0 ? {} : { accounts });
process.stdout.write(`${JSON.stringify({ url: fake.url, token: fake.token, controlUrl })}\n`);
process.stdin.resume();
process.stdin.on("end", () => void close());
