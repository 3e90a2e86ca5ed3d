// Sessions, roles and the control of a job, with a real server. Each user has a browser context.
import { expect, type Page } from "@playwright/test";
import { host, test } from "./debug_server.ts";
import { sessionOf } from "./session.ts";

const STOP = { timeout: 60_000 };

const state = (page: Page) => page.getByRole("status", { name: "Job state" });
const button = (page: Page, name: string) => page.getByRole("button", { name, exact: true });
const step = (page: Page) => page.getByTestId("step");

async function openJob(page: Page, url: string): Promise<void> {
  await page.goto(url);
  await page.getByRole("link", { name: "digits_cnn.py" }).click({ timeout: STOP.timeout });
  await expect(state(page)).toHaveText(/paused/i, STOP);
}

test("an address works once, and one that was used says how to get another", async ({ page, browser, server }) => {
  const url = await server.start();
  await page.goto(url);
  await expect(page.getByRole("heading", { name: "Jobs" })).toBeVisible();
  const stored = await page.evaluate(() => JSON.stringify(localStorage));
  expect(stored).not.toContain(await sessionOf(page));

  const late = await (await browser.newContext()).newPage();
  await late.goto(url);
  await expect(late.getByRole("heading", { name: "This address is no longer valid" })).toBeVisible();
  await expect(late.getByText("graphdbg url")).toBeVisible();
  await late.getByLabel("Token or full URL").fill(await server.url());
  await button(late, "Sign in").click();
  await expect(late.getByRole("heading", { name: "Jobs" })).toBeVisible();
  await late.context().close();
});

test("a session that is revoked keeps the page as it is", async ({ page, server }) => {
  const url = await server.start();
  server.job("digits", [host("digits_cnn.py")]);
  await openJob(page, url);
  await button(page, "Add watchpoint").first().click();
  await page.getByRole("form").getByLabel("On", { exact: true }).selectOption("pattern");
  await page.getByLabel("Pattern").fill("forward/**");
  const headers = { Authorization: `Bearer ${await sessionOf(page)}` };
  const ended = await page.request.delete(new URL("/api/v1/session", url).href, { headers });
  expect(ended.status()).toBe(204);

  const dialog = page.getByRole("dialog", { name: "Your session has ended" });
  await expect(dialog).toBeVisible();
  await dialog.getByLabel("Token or full URL").fill(await server.url());
  await page.keyboard.press("Enter");
  await expect(dialog).toBeHidden();
  await expect(page.getByLabel("Pattern")).toHaveValue("forward/**");
  await page.getByRole("form").getByRole("button", { name: "Add" }).click();
  await expect(page.getByRole("switch")).toBeVisible();
  await button(page, "Step").click();
  await expect(step(page)).toHaveText("1", STOP);
});

test("a viewer sees everything and changes nothing", async ({ page, server }) => {
  await server.start();
  server.job("digits", [host("digits_cnn.py")]);
  await openJob(page, await server.url("--name", "vera", "--role", "view"));
  await expect(button(page, "Continue")).toHaveAttribute("aria-description", /role “control”; yours is “view”/);
  await expect(button(page, "Terminate")).toHaveAttribute("aria-description", /role “admin”/);
  await page.keyboard.press("F10");
  await page.getByRole("tree", { name: "Nodes" }).getByRole("treeitem", { name: /^forward\b/ }).first().click();
  await expect(page.getByRole("region", { name: "Node", exact: true })).toBeVisible();
  await expect(step(page)).toHaveText("0");
});

test("two users do not control a job against each other unknowingly", async ({ page, browser, server }) => {
  await server.start();
  server.job("digits", [host("digits_cnn.py")]);
  await openJob(page, await server.url("--name", "alice", "--role", "control"));
  const bob = await (await browser.newContext()).newPage();
  await openJob(bob, await server.url("--name", "bob", "--role", "control"));
  await button(page, "Step").click();
  await expect(step(bob)).toHaveText("1", STOP);
  await expect(state(bob)).toHaveText(/paused/i);
  await expect(bob.getByText("Controlled by alice")).toBeVisible();

  await button(bob, "Step").click();
  const messages = bob.getByRole("log", { name: "Messages" });
  await expect(messages).toContainText("alice controls this job");
  await expect(step(bob)).toHaveText("1");
  await messages.getByRole("button", { name: "Take over" }).click();
  await expect(step(bob)).toHaveText("2", STOP);
  await expect(page.getByText("Controlled by bob")).toBeVisible();
  await expect(page.getByRole("log", { name: "Messages" })).toContainText("bob took over the control");
  await bob.context().close();
});

test("the audit log names who did what, also after a restart of the server", async ({ page, server }) => {
  const url = await server.start();
  server.job("digits", [host("digits_cnn.py")]);
  await openJob(page, url);
  await button(page, "Step").click();
  await expect(step(page)).toHaveText("1", STOP);
  await server.kill();
  await server.start();
  await page.goto(await server.url());
  await button(page, "Audit log").click();
  const row = page.getByRole("row").filter({ hasText: "control" }).filter({ hasText: "step" });
  await expect(row.first()).toContainText("owner");
  await expect(row.first()).toContainText("ok");
});

test("a job’s owner can forbid terminating it", async ({ page, server }) => {
  const url = await server.start();
  server.job("digits", [host("digits_cnn.py")], { GRAPHDBG_ALLOW: "view,control" });
  await openJob(page, url);
  await expect(button(page, "Terminate")).toHaveAttribute("aria-description", /owner does not allow terminating/);
  await button(page, "Step").click();
  await expect(step(page)).toHaveText("1", STOP);
});

test("a job is removed only after a confirmation", async ({ page, server }) => {
  const url = await server.start();
  server.job("digits", [host("digits_cnn.py")]);
  await openJob(page, url);
  await page.keyboard.press("Shift+F5");
  const dialog = page.getByRole("alertdialog", { name: "Terminate digits" });
  await expect(dialog).toBeVisible();
  // The focus is on Cancel.
  await page.keyboard.press("Enter");
  await expect(dialog).toBeHidden();
  await page.keyboard.press("Shift+F5");
  await expect(dialog).toBeVisible();
  await page.keyboard.press("Tab");
  await page.keyboard.press("Enter");
  await expect(state(page)).toHaveText(/terminated/i, STOP);

  await page.getByRole("button", { name: /graphdbg/ }).first().click();
  await page.getByRole("button", { name: /^Remove / }).click();
  await page.getByRole("alertdialog").getByRole("button", { name: "Remove job" }).click();
  await expect(page.getByText("No jobs yet")).toBeVisible();
});
