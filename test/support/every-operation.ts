import type { Routing } from "../../src/core/conversation.ts";
import type { NewMessage } from "../../src/core/message.ts";
import type { Asker } from "../../src/core/owner.ts";
import { throwIfRefused } from "../../src/core/refusal.ts";
import type { Source } from "../../src/core/source.ts";
import { emptyUsage } from "../../src/core/usage.ts";
import type { ErasureProgress } from "../../src/ports/access-store.ts";
import type { Facets } from "../../src/stores/sql/operations.ts";

const T0 = Date.UTC(2026, 2, 15);
const ANN: Source = { platform: "telegram", chatType: "dm", chatId: "ann", userId: "ann" };
const ann: Asker = { person: "p_ann" };
const inChat: Asker = { person: "p_ann", chat: "chat:telegram:-100" };
const everyone: Asker = { everyone: true };
const hello: NewMessage = { role: "user", parts: [{ type: "text", text: "hello" }] };
const bytes = { hash: "ab".repeat(32), bytes: new Uint8Array([1]) };
const picture: NewMessage = {
  role: "user",
  parts: [{ type: "image", blob: bytes.hash, mimeType: "image/png", size: 1 }],
};

/** Calls every operation of the store, so that each of its statements has run. */
export async function callEveryOperation(
  store: Facets,
  indexMessages: () => Promise<unknown>,
): Promise<void> {
  let ids = 0;
  const newSession = () => {
    ids += 1;
    return { id: `s${ids}`, kind: "chat" as const };
  };
  const routing = (source: Source, more: Partial<Routing> = {}): Routing => ({
    source,
    profile: "main",
    scope: { groupsPerUser: true, threadsPerUser: true },
    person: "p_ann",
    reset: {},
    newSession: newSession(),
    now: T0,
    ...more,
  });
  const group: Source = { ...ANN, chatType: "group", chatId: "-100" };
  const claim = { runner: "r1", take: "one" as const };

  await store.runners.recordHeartbeat({
    runner: { id: "r1", host: "elsewhere", boot: "b", pid: 1, started: "1" },
    now: T0,
  });
  await store.runners.acquireLease({ name: "expiry", runner: "r1", ttlMs: 1000, now: T0 });
  await store.runners.acquireLease({ name: "expiry", runner: "r2", ttlMs: 1000, now: T0 });
  await store.runners.releaseLease({ name: "expiry", runner: "r1" });
  await store.runners.requestDrain({ runner: "r1", now: T0 });

  // Routing: first contact, a reset, a reset prevented by a hold, merged accounts.
  const opened = await store.conversations.open(routing(ANN));
  await store.conversations.open(routing({ ...ANN, userName: "Ann", chatName: "Ann" }));
  const id = opened.session.id;
  const conversation = opened.conversation.number;
  await store.sessions.hold({ asker: ann, session: id, name: "job", until: T0 + 9 });
  await store.conversations.open(routing(ANN, { reset: { idleBefore: T0 + 1 } }));
  await store.sessions.release({ asker: ann, session: id, name: "job" });
  await store.conversations.open(routing(ANN, { reset: { idleBefore: T0 + 1 }, now: T0 + 2 }));
  await store.conversations.markResetNotified({ conversation, notified: { note: true, notice: true } });
  for (const chatId of ["g1", "g2"]) {
    await store.conversations.open(
      routing({ platform: "signal", chatType: "group", chatId, userId: "+49" }, { person: "p_old" }),
    );
  }
  await store.conversations.open(
    routing({ platform: "signal", chatType: "group", chatId: "g1", userIdAlt: "u" }, { person: "p_new" }),
  );
  await store.conversations.open(
    routing({ platform: "signal", chatType: "group", chatId: "g1", userId: "+49", userIdAlt: "u" }),
  );
  await store.conversations.open(
    routing({ platform: "signal", chatType: "group", chatId: "g1", userId: "+50", userIdAlt: "u" }),
  );
  await store.conversations.open(
    routing({ platform: "signal", chatType: "group", chatId: "g1", userId: "+50", userIdAlt: "v" }),
  );

  // Turns: claimed at once, pending, recovered, finished with a next one.
  const accepted = async (source: Source, message = hello, more: object = {}) => {
    const input = { ...routing(source), messageId: `m${ids}`, message, ...more };
    return store.inbox.accept(input);
  };
  const cursor = { name: "telegram", value: "7" };
  const first = await accepted(ANN, picture, { claim, cursor, blobs: [bytes] });
  if (first.duplicate || first.tooMany !== undefined || first.turn === undefined)
    throw new Error("the turn did not begin");
  const { turn } = first;
  await accepted(ANN, picture, { claim });
  await accepted(ANN, hello, { claim });
  const answerDraft = { text: "hel", thought: "" };
  await store.turns.saveDraft({ turn: turn.number, fence: turn.fence, answerDraft });
  await store.messages.append({
    asker: ann,
    session: turn.session,
    messages: [hello],
    fence: turn.fence,
    now: T0,
  });
  await store.turns.requestStop({ conversation: opened.conversation.number, now: T0 });
  await store.turns.isSessionAnswering({ session: opened.session.id });
  await store.runners.getRequests({ runner: "r1" });
  await store.runners.retire({ runner: "r1" });
  const again = await store.turns.claim({ session: turn.session, runner: "r1", take: "one", now: T0 });
  const finished = throwIfRefused(
    await store.turns.finish({
      turn: turn.number,
      fence: again?.fence ?? 0,
      outcome: "done",
      messages: [hello],
      usage: { inputTokens: 1 },
      deliveries: [{ target: ANN, parts: hello.parts }],
      notified: { note: true },
      next: { runner: "r1", take: "all" },
      now: T0,
    }),
  );
  await store.outbox.settle({
    delivery: finished.deliveries[0]?.number ?? 0,
    outcome: { state: "sent" },
    now: T0,
  });
  await accepted(ANN);
  await store.inbox.cancelPending({ conversation, now: T0 });
  await accepted(group, picture);

  // The outbox: drafts, commands, a full queue, edits.
  const line = { profile: "main", source: ANN, line: "/status", runner: "r0", now: T0 };
  const asking = await store.inbox.acceptCommand({ ...line, messageId: "line 1" });
  await store.inbox.acceptCommand({ ...line, messageId: "line 2" });
  const together = ["one", "two"].map((messageId) => ({ ...routing(ANN), messageId, message: hello }));
  await store.inbox.acceptMany({ messages: together });
  await store.inbox.cancelPending({ conversation, now: T0 });
  await store.inbox.moveCursor({ cursor, now: T0 });
  await store.inbox.listOrphanedCommands({ platform: "telegram", now: T0 });
  const [one, two] = (
    await store.outbox.enqueue({
      deliveries: [
        { target: ANN, parts: hello.parts, quiet: true },
        { target: ANN, parts: picture.parts, sendNow: true },
      ],
      session: id,
      answeredCommand: asking.inbox,
      resetNoticeFor: conversation,
      runner: "r0",
      now: T0,
    })
  ).deliveries;
  const [unowned] = (
    await store.outbox.enqueue({
      deliveries: [{ target: ANN, parts: picture.parts }],
      blobs: [bytes],
      runner: "r0",
      now: T0,
    })
  ).deliveries;
  for (const delivery of [one, two, unowned].map((it) => it?.number ?? 0)) {
    await store.outbox.beginDelivery({ delivery, runner: "r0", now: T0 });
    await store.outbox.listOrphanedDeliveries({ platform: "telegram", now: T0 });
    const aside = { state: "waiting", nextAt: T0, error: "500", failed: true, deferred: true } as const;
    await store.outbox.settle({
      delivery,
      outcome: aside,
      notice: { target: ANN, parts: hello.parts },
      now: T0,
    });
    await store.outbox.listDeferredDeliveries({ limit: 10 });
    await store.outbox.settle({ delivery, outcome: { state: "sent" }, now: T0 });
  }
  for (const ending of ["complete", "abandon", "never shown"]) {
    const drafting = await accepted({ ...ANN, chatId: ending }, hello, { claim });
    if (!("turn" in drafting) || drafting.turn === undefined) throw new Error("the turn did not begin");
    const held = { turn: drafting.turn.number, fence: drafting.turn.fence };
    const { number: draft } = throwIfRefused(
      await store.outbox.beginDraft({ ...held, target: ANN, now: T0 }),
    );
    await store.outbox.recordDraftOutcome({
      delivery: draft,
      shown: ending === "never shown" ? "nothing" : "unknown",
    });
    const deliveries = ending === "complete" ? [{ target: ANN, parts: hello.parts, draft }] : [];
    await store.turns.finish({ ...held, outcome: "done", messages: [], deliveries, now: T0 });
  }
  for (const maxPending of [2, 0]) await accepted(ANN, hello, { claim, maxPending });
  const thought = { profile: "main", source: ANN, now: T0 };
  await accepted(ANN, picture, { messageId: "thought" });
  await store.inbox.editInbound({ ...thought, messageId: "thought", message: picture, blobs: [bytes] });
  await store.inbox.editInbound({ ...thought, messageId: "thought", message: hello });
  await store.inbox.editInbound({ ...thought, messageId: "thought" });
  await store.inbox.cancelPending({ conversation, now: T0 });
  await store.conversations.changeConversationSettings({
    asker: ann,
    conversation,
    change: { busy: "queue" },
    now: T0,
  });

  // Views.
  const made = throwIfRefused(
    await store.sessions.create({
      session: { ...newSession(), owner: "p_ann", title: "Plan" },
      profile: "main",
      now: T0,
    }),
  );
  const ask = { asker: ann, session: made.id, now: T0 };
  await store.messages.append({ ...ask, messages: [hello, hello, picture], blobs: [bytes] });
  await store.messages.changeView({ ...ask, kind: "undo" });
  await store.messages.changeView({ ...ask, kind: "redo" });
  await store.messages.changeView({ ...ask, kind: "rewind", to: { session: made.id, seq: 2 } });
  await store.messages.changeView({ ...ask, kind: "restore", version: 0 });
  await store.messages.changeView({ ...ask, kind: "compress", summary: hello, keepLast: 1 });
  await store.messages.changeView({ ...ask, kind: "rewrite", messages: [hello, picture] });
  const copy = throwIfRefused(await store.sessions.fork({ ...ask, newSession: newSession() }));
  await store.sessions.setTitle({ ...ask, title: "Other" });
  await store.sessions.setTitle({ ...ask, title: "Other", numbered: true });
  await store.sessions.change({ ...ask, change: { model: "m", archived: true, ended: true } });
  await store.sessions.change({ ...ask, change: { archived: false, ended: false } });
  await store.sessions.recordUsage({ ...ask, purpose: "answer", usage: { inputTokens: 1 }, now: T0 });
  await store.conversations.switchTo({ ...ask, conversation });

  // Editors: attached, pending inputs, inputs that only they may claim.
  const desk = throwIfRefused(
    await store.sessions.create({ session: { ...newSession(), owner: "owner" }, profile: "main", now: T0 }),
  );
  const editor = { platform: "acp", chatType: "dm", chatId: desk.id };
  const identity = { source: editor, profile: "second", scope: routing(ANN).scope };
  for (const now of [T0, T0 + 1])
    await store.conversations.attach({ asker: everyone, session: desk.id, ...identity, now });
  const own = { runner: "e1", take: "one", own: true } as const;
  for (const runner of ["e1", "e1", "e2"])
    await store.inbox.accept({
      ...routing(editor),
      ...identity,
      messageId: `m${ids}`,
      message: hello,
      claim: { ...own, runner },
    });
  for (const runner of ["e3", "e1", "e2"])
    await store.turns.claim({ session: desk.id, ...own, runner, now: T0 });
  await store.turns.claim({ session: desk.id, ...claim, now: T0 });
  await store.conversations.reset({ asker: ann, conversation, newSession: newSession(), now: T0 });
  await store.sessions.importSession({
    profile: "main",
    session: { ...newSession(), owner: "p_ann", title: "Plan" },
    usage: emptyUsage(),
    createdAt: T0,
    endedAt: T0,
    messages: [
      { ...hello, at: T0 },
      { ...hello, at: T0 },
    ],
    blobs: [],
    shows: [{ from: 1, to: 1 }],
    hidden: [{ from: 2, to: 2 }],
    now: T0,
  });
  const scope = { groupsPerUser: true, threadsPerUser: true };
  const chats = [{ source: ANN, scope, activeAt: T0 + 9 }];
  const brought = {
    profile: "main",
    session: newSession(),
    usage: emptyUsage(),
    createdAt: T0,
    messages: [],
    blobs: [],
    shows: [],
    hidden: [],
    now: T0,
  };
  await store.sessions.importSession({ ...brought, conversations: chats });
  await store.sessions.importSession({
    ...brought,
    session: newSession(),
    account: { platform: "telegram", userId: "x" },
  });
  await store.sessions.importMessages({
    profile: "main",
    session: brought.session.id,
    after: 0,
    messages: [{ ...hello, at: T0 }],
    blobs: [],
    usage: emptyUsage(),
    title: "Brought",
    conversations: chats,
    now: T0,
  });
  await indexMessages();
  await store.messages.append({ ...ask, messages: [hello] });

  // Reads, as each kind of asker.
  for (const asker of [ann, inChat, everyone]) {
    await store.sessions.getSession({ asker, session: made.id });
    await store.sessions.find({ asker, text: made.id });
    await store.sessions.find({ asker, text: made.handle });
    await store.sessions.find({ asker, text: "s" });
    await store.sessions.findByTitle({ asker, title: "Plan" });
    await store.conversations.findConversations({ asker, source: ANN });
    await store.conversations.findConversations({ asker, session: id });
    await store.conversations.listConversations({ asker, platform: "telegram" });
    await store.conversations.listConversations({ asker: { person: "p_ann", chat: "chat:telegram:1" } });
    await store.messages.readHistory({ asker, session: copy.id });
    await store.messages.listMessages({ asker, session: made.id });
    await store.messages.getViewRanges({ asker, session: copy.id });
    await store.messages.listVersions({ asker, session: made.id });
    await store.conversations.listDecisions({ asker, conversation });
    await store.inbox.listPending({ asker, session: id });
    await store.turns.getDraft({ asker, session: id });
    await store.sessions.getDiagnostics({ asker, session: id });
    await store.conversations.findConversationsByKey({ asker, key: "agent:main:telegram:dm:ann" });
    await store.inbox.findInbound({ asker, session: id, seq: 1 });
    await store.inbox.findInbound({ asker, platform: "telegram", chatId: "ann", messageId: "m1" });
    await store.messages.readBlob({ asker, hash: bytes.hash });
    await store.sessions.hasOther({ asker, session: made.id });
    await store.sessions.getStats({ asker });
    await store.messages.searchMessages({ asker, text: "hello" });
    await store.messages.searchMessages({
      asker,
      text: "hello",
      session: copy.id,
      platforms: ["telegram"],
      kinds: ["chat"],
    });
    await store.messages.countUnindexed({ asker, text: "hello" });
    await store.sessions.querySessions({ asker });
    await store.sessions.querySessions({
      asker,
      activeSince: T0,
      platform: "telegram",
      owner: "p_ann",
      kinds: ["chat"],
      archived: true,
      titled: true,
      used: true,
      cwd: "/",
      cursor: "1.1",
    });
    await store.sessions.prune({
      asker,
      before: T0,
      platform: "telegram",
      kinds: ["chat"],
      dryRun: true,
      now: T0,
    });
  }
  await store.turns.listClaimable({ now: T0 });

  // Processes: started, printing, adopted, reported, ended.
  for (const [index, background] of [true, false, true].entries()) {
    const watch = { mode: "all", patterns: [], wakes: true } as const;
    const process = { id: `proc_${index}`, command: "make", cwd: "/", background, pty: false, watch };
    const beginning = { process, session: id, conversation, target: ANN, maxRunning: 3, now: T0 };
    throwIfRefused(await store.processes.beginProcess(beginning));
    const running = { id: process.id, keeper: `k${index}`, pid: 1, startTime: "1", pty: false, now: T0 };
    if (index < 2) await store.processes.markProcessRunning(running);
  }
  const printed = { id: "proc_0", keeper: "k0", from: 0, text: "x".repeat(5_000), matched: ["x"] };
  await store.processes.appendProcessOutput(printed);
  await store.processes.appendProcessOutput({ ...printed, from: 5_000, text: "y".repeat(200_000) });
  await store.processes.appendProcessOutput({ ...printed, from: 205_000, text: "z" });
  await store.processes.appendProcessOutput({ ...printed, from: 205_001, text: "z" });
  await store.processes.adoptProcesses({ keeper: "k2", now: T0 + 31_000 });
  const untold = { process: "proc_0", before: { upTo: 0, matches: 0, end: false }, matches: 0, end: false };
  await store.processes.recordProcessInput({ id: untold.process, unfinished: "rm -" });
  await store.processes.markProcessReported({ ...untold, upTo: 1, now: T0 });
  const tells = { ...untold, before: { ...untold.before, upTo: 1 }, upTo: 2, isProgress: true };
  await store.outbox.enqueue({
    deliveries: [{ target: ANN, parts: hello.parts }],
    runner: "r0",
    processReport: tells,
    now: T0,
  });
  for (const asker of [ann, inChat, everyone]) {
    await store.processes.getProcess({ asker, id: "proc_0" });
    for (const from of [0, 300, undefined])
      await store.processes.readProcessOutput({ asker, id: "proc_0", ...(from !== undefined && { from }) });
    for (const narrow of [{}, { session: id }, { conversation }, { session: id, conversation }]) {
      await store.processes.listProcesses({ asker, ...narrow });
      await store.processes.listProcesses({ asker, ...narrow, endedSince: T0, foreground: true, limit: 9 });
    }
  }
  await store.processes.listWatchedProcesses();
  await store.conversations.open(routing(ANN, { reset: { idleBefore: T0 + 99 }, now: T0 + 99 }));
  await store.sessions.remove({ asker: everyone, session: id, now: T0 });
  for (const index of [0, 1])
    await store.processes.endProcess({ id: `proc_${index}`, exit: { code: 0 }, now: T0 });
  await store.outbox.getDelivery({ number: 1 });
  await store.outbox.listPendingDeliveries({ dueAt: T0, limit: 9 });
  await store.outbox.listPendingDeliveries({ dueAt: T0, limit: 9, except: [1] });
  await store.outbox.listPendingDeliveries({ dueAt: T0, limit: 9, platform: "telegram" });
  await store.inbox.getCursor({ name: "telegram" });

  // Access: codes, guesses, roles, linked accounts, and approvals.
  const code = { platform: "telegram", salt: "s", hash: "h", expiresAt: T0 + 9, everyMs: 5, maxPending: 3 };
  const letIn = await store.access.requestPairing({
    ...code,
    asker: { ...ANN, chatId: "eve", userId: "eve" },
    now: T0,
  });
  const linking = await store.access.requestPairing({ ...code, person: "p_ann", now: T0 });
  if (letIn.state !== "asked" || linking.state !== "asked") throw new Error("there is no code");
  await store.access.listPairings({ now: T0 });
  await store.access.listPairings({ platform: "telegram", now: T0 });
  const { person: eve } = throwIfRefused(
    await store.access.redeemPairing({ pairing: letIn.number, now: T0 }),
  );
  const phone = { platform: "signal", userId: "+60", altId: "w" };
  await store.access.redeemPairing({ pairing: linking.number, account: phone, now: T0 });
  await store.access.countGuess({ name: "x", maxGuesses: 3, lockMs: 1, now: T0 });
  await store.access.clearGuesses({ name: "x" });
  await store.access.setRole({ person: eve, role: "member", now: T0 });
  await store.access.listGrants();
  await store.access.getAccount(phone);
  await store.access.getAccount({ platform: "telegram", userId: "eve" });
  await store.conversations.open(routing({ ...ANN, platform: "signal", chatId: "+60", userId: "+60" }));
  await store.access.linkAccount({ account: phone, person: eve, now: T0 });
  await store.access.linkAccount({
    account: { platform: "telegram", userId: "fay" },
    person: "p_ann",
    now: T0,
  });
  await store.sessions.setTitle({ ...ask, title: "Fay" });
  await store.conversations.open(routing({ ...ANN, chatId: "gus", userId: "gus" }, { person: "p_gus" }));
  await store.access.linkAccount({
    account: { platform: "telegram", userId: "gus" },
    person: "p_ann",
    now: T0,
  });
  const acting = await accepted(ANN, hello, { claim });
  if (acting.duplicate || acting.tooMany !== undefined || acting.turn === undefined)
    throw new Error("the turn did not begin");
  const { number: doing, fence: held } = acting.turn;
  const request = { title: "list", pattern: "ls" };
  const requested = throwIfRefused(
    await store.access.createApproval({ turn: doing, fence: held, request, deadline: T0, now: T0 }),
  );
  const approval = requested.number;
  await store.access.moveApprovalDeadline({ approval, deadline: T0 + 60_000 });
  await store.access.answerApproval({ person: requested.person, approval, answer: "always", now: T0 });
  await store.access.answerApproval({ person: requested.person, approval, answer: "once", now: T0 });
  const denied = throwIfRefused(
    await store.access.createApproval({ turn: doing, fence: held, request, deadline: T0, now: T0 }),
  );
  await store.access.answerApproval({
    person: denied.person,
    approval: denied.number,
    answer: "never",
    now: T0,
  });
  await store.access.listApprovals({ person: requested.person, conversation });
  await store.access.getApproval({ asker: ann, approval });
  await store.access.checkApprovalRules({
    person: requested.person,
    session: requested.session,
    pattern: "ls",
  });
  await store.runners.retire({ runner: "r1" });
  const resumed = await store.turns.claim({ session: requested.session, runner: "r1", take: "one", now: T0 });
  const fenced = { turn: doing, fence: resumed?.fence ?? 0 };
  throwIfRefused(await store.access.createApproval({ ...fenced, request, deadline: T0, now: T0 }));
  await store.outbox.enqueue({ deliveries: [], runner: "r0", approval: approval, now: T0 });
  await store.access.listApprovalRules({ person: requested.person });
  await store.access.removeApprovalRule({
    person: requested.person,
    pattern: "ls",
    session: requested.session,
    now: T0,
  });
  await store.turns.finish({ ...fenced, outcome: "done", messages: [], now: T0 });

  // Memory: changed, restored, flushed; and an agent woken by a process.
  for (const owner of ["p_gus in chat:x", "p_ann", "p_ann in chat:x"])
    await store.memory.changeMemory({ owner, change: { action: "add", text: owner }, now: T0 });
  await store.memory.restoreMemory({ owner: "p_ann", version: 1, now: T0 });
  await store.memory.getMemory({ owner: "p_ann" });
  await store.memory.listMemoryVersions({ owner: "p_ann" });
  const lively = await store.conversations.open(
    routing({ ...ANN, chatId: "hal", userId: "hal" }, { person: "p_ann" }),
  );
  const { id: flushed } = lively.session;
  await store.messages.append({ asker: everyone, session: flushed, messages: Array(4).fill(hello), now: T0 });
  await store.memory.requestFlush({ session: flushed, now: T0 });
  const flush = await store.memory.claimFlush({ runner: "r1", now: T0 });
  await store.memory.finishFlush({
    flush: flush?.number ?? 0,
    runner: "r1",
    changes: [],
    usage: { inputTokens: 1 },
    now: T0,
  });
  for (const name of ["proc_8", "proc_9"]) {
    const watch = { mode: "all", patterns: [], wakes: true } as const;
    const process = { id: name, command: "make", cwd: "/", background: true, pty: false, watch };
    const { number } = lively.conversation;
    await store.processes.beginProcess({
      ...{ process, session: flushed, conversation: number, target: ANN, maxRunning: 9, now: T0 },
    });
    await store.processes.endProcess({ id: name, exit: { code: 0 }, now: T0 });
    const woken = await store.processes.wakeAgent({ process: name, message: hello, claim, now: T0 });
    if (woken.state !== "woken") throw new Error("the process is not reported");
  }

  // Periodic work: idle conversations, finished rows, leases.
  for (const { conversation: silent } of await store.conversations.listIdle({ before: T0 + 99, limit: 9 }))
    await store.conversations.expireConversation({
      conversation: silent.number,
      reset: { idleBefore: T0 + 99 },
      now: T0 + 99,
    });
  await store.conversations.clampActivity({ now: T0 + 99 });
  await store.conversations.setHomeChannel({
    home: { platform: "telegram", chatId: "ann", name: "Ann" },
    now: T0,
  });
  await store.conversations.listHomeChannels();
  await store.conversations.removeHomeChannel({ platform: "telegram" });
  await store.runners.listLeases({ now: T0 });
  for (const asker of [ann, inChat, everyone]) {
    await store.sessions.getInsights({ asker, since: T0, platform: "telegram" });
    await store.sessions.getInsights({ asker, since: T0 });
  }
  await store.sessions.listUsageEntries(ask);
  await store.upkeep.purgeFinished({ before: T0, limit: 3, now: T0 });

  // Removal: with a fork that shows a part, then the fork, then ended sessions.
  await store.sessions.remove(ask);
  await store.sessions.remove({ ...ask, session: copy.id });
  await store.sessions.prune({ asker: ann, before: T0 + 99, dryRun: false, now: T0 });

  // A person, also in chats with others: exported, and erased.
  const shared = {
    ...routing(group, { scope: { groupsPerUser: false, threadsPerUser: false } }),
    messageId: "shared",
  };
  const spoken = await store.inbox.accept({
    ...shared,
    source: { ...group, chatId: "-200" },
    message: picture,
    blobs: [bytes],
    claim,
  });
  if (spoken.duplicate || spoken.tooMany !== undefined || spoken.turn === undefined)
    throw new Error("the turn did not begin");
  const { number, fence } = spoken.turn;
  const messages: NewMessage[] = [
    { ...hello, role: "assistant", toolCalls: [{ id: "1", name: "t", arguments: {} }] },
  ];
  await store.turns.finish({
    turn: number,
    fence,
    outcome: "done",
    messages,
    deliveries: [{ target: group, parts: [] }],
    now: T0,
  });
  await store.access.readPersonData({ platform: "telegram", account: "ann" });
  await store.access.readPersonData({ person: "p_ann" });
  for (let step: ErasureProgress = { done: false }; !step.done; )
    step = throwIfRefused(await store.access.erasePerson({ person: "p_ann", limit: 1, now: T0, ...step }));
}
