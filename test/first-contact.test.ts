import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { driveCreations, driveFirstContacts } from "./first-contact/drive.ts";
import { temporaryFolder } from "./support/folder.ts";
import { schedule } from "./support/schedule.ts";

const SEED = 7;
const CONTACTS = schedule(200, 1000);

it("creates one conversation and one session when two processes handle a first contact concurrently", async () => {
  const folder = temporaryFolder();
  onTestFinished(() => folder.remove());
  const file = join(folder.path, "postrider.db");
  const report = await driveFirstContacts({ file, seed: SEED, contacts: CONTACTS, everyMs: 4 });
  console.log(`seed ${SEED}: first contacts ${report.contacts}, at once ${report.atOnce}`);
  expect(report.errors).toEqual([]);
  expect(report.doubled).toEqual([]);
  expect(report.lost).toEqual([]);
  expect(report.conversations).toBe(CONTACTS);
  expect(report.sessions).toBe(CONTACTS);
  expect(report.atOnce).toBeGreaterThan(CONTACTS / 5);
}, 60_000);

it("creates one database when two processes create it concurrently", async () => {
  const folder = temporaryFolder();
  onTestFinished(() => folder.remove());
  expect(await driveCreations(folder.path, schedule(5, 20))).toEqual([]);
});
