// The journey of a first-time user: open the page, see the graph, watch for
// overflow, continue, see the hit, look at its values, step, terminate. A real
// training job, a real server, a real browser.
import { expect, type Page } from "@playwright/test";
import { screenshot, test } from "./debugged_job.ts";
import { sessionOf, useSession } from "./session.ts";

// The page moves from the starting program to its job by itself.
async function openJob(page: Page, url: string, name: string): Promise<void> {
  await page.goto(url);
  await expect(page.getByText(`${name}.py is starting…`).or(state(page))).toBeVisible();
  await expect(state(page)).toHaveText(/paused/i, { timeout: 30_000 });
}

const state = (page: Page) => page.getByRole("status", { name: "Job state" });
const button = (page: Page, name: string) => page.getByRole("button", { name, exact: true });
const treeItem = (page: Page, label: string) =>
  page.getByRole("tree", { name: "Nodes" }).getByRole("treeitem", { name: new RegExp(`^${label}\\b`) }).first();

async function watchForOverflow(page: Page): Promise<void> {
  await button(page, "Add watchpoint").first().click();
  const form = page.getByRole("form", { name: "New watchpoint" });
  await form.getByLabel("When").selectOption("overflow");
  await form.getByLabel("On", { exact: true }).selectOption("everything");
  await form.getByRole("button", { name: "Add" }).click();
  await expect(page.getByRole("switch", { name: /Watchpoint 1: NaN or infinity on everything/ })).toBeVisible();
}

test("hunting the first infinity by clicks", async ({ page, debug }) => {
  const requests: string[] = [];
  page.on("request", (request) => requests.push(request.url()));
  const errors: string[] = [];
  page.on("pageerror", (error) => errors.push(error.message));
  const job = debug("digits_cnn.py");
  const url = await job.url();
  await openJob(page, url, "digits_cnn");
  expect(page.url()).not.toContain("code=");

  // The modules and their parameters exist before the first step.
  await expect(treeItem(page, "forward")).toBeVisible();
  await treeItem(page, "conv1").click();
  await page.keyboard.press("ArrowRight");
  await treeItem(page, "weight").click();
  const weight = page.getByRole("region", { name: "Values" });
  await expect(weight.getByRole("grid")).toBeVisible();
  await expect(weight.getByLabel("Statistics")).toContainText("count");
  await page.screenshot({ path: screenshot("1-before-the-first-step") });

  await watchForOverflow(page);
  await button(page, "Continue").click();
  await expect(state(page)).toHaveText(/watchpoint/i, { timeout: 90_000 });
  const hit = page.getByRole("listbox", { name: "Hits" }).getByRole("option").first();
  await expect(hit).toHaveAccessibleName(/forward\/log/);
  // The job stops where the infinity does harm, which may be an op that reads it.
  await hit.click();
  await expect(page.getByRole("img", { name: /forward\/log/ })).toBeVisible();
  const node = page.getByRole("region", { name: "Node", exact: true });
  await expect(node).toContainText("aten::log");
  await expect(page.getByRole("region", { name: "Source" })).toContainText("torch.log(probabilities)");
  const values = page.getByRole("region", { name: "Values" });
  await expect(values.getByLabel("Statistics")).toContainText("-Inf");
  await values.getByRole("button", { name: /^Next NaN/ }).click();
  await expect(values).toContainText(/=\s*-Inf/);
  await page.screenshot({ path: screenshot("2-stopped-at-the-logarithm") });
  await page.emulateMedia({ colorScheme: "dark" });
  await page.screenshot({ path: screenshot("3-the-same-in-the-dark") });
  await page.emulateMedia({ colorScheme: "light" });
  const row = /\[(\d+), \d+\]\s*=\s*-Inf/.exec((await values.textContent()) ?? "")?.[1];
  await page.getByLabel("Slice").fill(`[${row}:${Number(row) + 1}, :]`);
  await page.getByLabel("Slice").press("Enter");
  await expect(values.getByRole("grid")).toContainText("-Inf");

  // The address alone opens the same view in a second page.
  const address = page.url();
  const second = await page.context().newPage();
  await second.goto(address);
  await expect(second.getByRole("region", { name: "Node", exact: true })).toContainText("aten::log");

  // Step ends the current step; both pages are notified.
  await button(page, "Step").click();
  await expect(state(page)).toHaveText(/paused/i);
  await expect(second.getByRole("status", { name: "Job state" })).toHaveText(/paused/i);
  await second.close();

  await button(page, "Terminate").click();
  await page.getByRole("alertdialog").getByRole("button", { name: "Terminate job" }).click();
  await expect(state(page)).toHaveText(/terminated/i, { timeout: 30_000 });
  await page.screenshot({ path: screenshot("4-terminated") });
  expect(await job.exitCode()).toBe(143);

  const origin = new URL(url).origin;
  const elsewhere = requests.filter((request) => !request.startsWith(origin) && !request.startsWith("data:"));
  expect(elsewhere).toEqual([]);
  expect(errors).toEqual([]);
});

test("a page closed in the midst of a command disturbs nobody", async ({ page, debug }) => {
  const job = debug("digits_cnn.py", "--steps", "40");
  await openJob(page, await job.url(), "digits_cnn");
  const address = page.url();
  await page.getByLabel("Number of steps").fill("3");
  await button(page, "Step").click();
  const session = await sessionOf(page);
  const context = page.context();
  await page.close();

  const next = await context.newPage();
  await useSession(next, session);
  await next.goto(address);
  await expect(state(next)).toHaveText(/paused/i, { timeout: 30_000 });
  await expect(next.getByText(/step\s*3/i).first()).toBeVisible();
  await button(next, "Continue").click();
  expect(await job.exitCode()).toBe(0);
  expect(job.stdout.filter((line) => line.startsWith("step")).length).toBe(40);
});
