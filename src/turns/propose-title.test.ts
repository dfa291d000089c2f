import { describe, expect, it } from "vitest";
import { heldAgent, me } from "../../test/support/talking.ts";
import { openHome } from "../../test/support/test-home.ts";
import { sumByPurpose } from "../core/usage.ts";
import { proposeTitle } from "./propose-title.ts";

/** A session with one exchange, and an agent that is asked for its title. */
async function requestTitle() {
  const { sessions } = await openHome();
  const { id } = await sessions.create(me);
  await sessions.append(me, id, [
    { role: "user", text: "Where is the sea?" },
    { role: "assistant", text: "In the west." },
  ]);
  await sessions.recordUsage(me, id, { inputTokens: 40, lastPromptTokens: 40 });
  const agent = Object.assign(heldAgent(), { canTitle: true });
  const stop = new AbortController();
  const ended = proposeTitle({ agent, sessions, who: me }, id, stop.signal);
  const held = await agent.asked();
  const outcome = async () => {
    await ended;
    const session = await sessions.get(me, id);
    const entries = (await sessions.usageEntries(me, id)) ?? [];
    const purposes = sumByPurpose(entries).map(({ purpose, usage }) => [purpose, usage.inputTokens]);
    return { title: session?.title, purposes, lastPromptTokens: session?.usage.lastPromptTokens };
  };
  return { held, stop, outcome, sessions, id };
}

const usage = { type: "usage", usage: { inputTokens: 7, outputTokens: 1, lastPromptTokens: 7 } } as const;
const counted = {
  purposes: [
    ["answer", 40],
    ["title", 7],
  ],
  lastPromptTokens: 40,
};

describe("a request for a title", () => {
  it("sets the title of the session, and its usage is counted apart from the answers", async () => {
    const { held, outcome } = await requestTitle();
    held.send({ type: "text", text: "The sea" }, usage);
    held.end();
    expect(await outcome()).toEqual({ title: "The sea", ...counted });
  });

  it("counts its usage also when it fails, and sets no title", async () => {
    const { held, outcome } = await requestTitle();
    held.send({ type: "text", text: "The s" }, { type: "failed", reason: "No credit." }, usage);
    held.end();
    expect(await outcome()).toEqual({ title: undefined, ...counted });
  });

  it("counts its usage also when it is stopped", async () => {
    const { held, stop, outcome } = await requestTitle();
    held.send(usage);
    await held.say("The s");
    stop.abort();
    expect(await outcome()).toEqual({ title: undefined, ...counted });
  });

  it("counts its usage also when a person sets a title meanwhile", async () => {
    const { held, outcome, sessions, id } = await requestTitle();
    await sessions.title(me, id, "my own");
    held.send({ type: "text", text: "The sea" }, usage);
    held.end();
    expect(await outcome()).toEqual({ title: "my own", ...counted });
  });

  it("without reported usage counts nothing", async () => {
    const { held, outcome } = await requestTitle();
    held.send({ type: "failed", reason: "No." });
    held.end();
    expect(await outcome()).toEqual({ title: undefined, purposes: [["answer", 40]], lastPromptTokens: 40 });
  });
});
