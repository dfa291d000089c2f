import { PostriderError } from "../../../core/errors.ts";
import { OWNER } from "../../../core/owner.ts";
import { throwIfRefused } from "../../../core/refusal.ts";
import type { Store } from "../../../ports/store.ts";
import { type Command, defineCommand, JSON_OPTION } from "../command.ts";
import { printJson, printLine, printNotice } from "../io.ts";
import { withStore } from "../open-home.ts";
import { findPersonArgument, personNotFound } from "../person-argument.ts";

export const pairRevokeCommand: Command = defineCommand({
  name: "pair revoke",
  takes: "PERSON | PLATFORM ID",
  words: [1, 2],
  about:
    "Revokes the access that a person got through pairing, on all their accounts. Their messages are kept; postrider erase\nremoves them. For an account of the owner, it only unlinks that account; the owner keeps the sessions. Lists in the\nconfiguration do not change.",
  options: { json: JSON_OPTION },
  examples: [
    ["postrider pair revoke p_3f9a2c44b1d0", "by the id in pair list"],
    ["postrider pair revoke telegram 42", "by an account"],
  ],
  async run({ words, values }, io) {
    const name = words.join(":");
    const person = await withStore(io, async ({ store }) => {
      const known = await findPersonId(store, words);
      if (known === undefined) throw personNotFound(name);
      if (known === OWNER) return unlinkAccount(store, words, io.now());
      const isMember = (await store.access.listGrants()).some((one) => one.person === known);
      if (!isMember)
        throw new PostriderError(
          "not_found",
          `${name} has no access through pairing. If they have access, it comes from a list in the configuration: remove them there.`,
        );
      await store.access.setRole({ person: known, role: undefined, now: io.now() });
      return known;
    });
    if (values.json) return printJson(io, { person });
    printLine(io, `${person} no longer has access.`);
    printNotice(io, "If a list in the configuration names them, they still have access: remove them there.");
  },
});

/** The owner keeps the role, but an account of theirs can be unlinked, for example when it is lost. */
async function unlinkAccount(store: Store, words: readonly string[], now: number): Promise<string> {
  const [platform = "", id] = words;
  if (id === undefined)
    throw new PostriderError(
      "not_allowed",
      `${platform} is the owner, and the owner's access cannot be revoked. To unlink one of their accounts, name it: postrider pair revoke telegram 42`,
    );
  const byId = await store.access.getAccount({ platform, userId: id });
  const account = byId === undefined ? { platform, altId: id } : { platform, userId: id };
  return throwIfRefused(await store.access.linkAccount({ account, now })).person;
}

async function findPersonId(store: Store, words: readonly string[]): Promise<string | undefined> {
  const [first = "", id] = words;
  if (id === undefined) return (await findPersonArgument(store, first))?.person;
  const byId = await store.access.getAccount({ platform: first, userId: id });
  return (byId ?? (await store.access.getAccount({ platform: first, altId: id })))?.person;
}
