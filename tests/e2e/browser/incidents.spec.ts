// What went wrong, and why: the page names the cause of a hit, and groups hits by it.
import { expect, type Page } from "@playwright/test";
import { host, test } from "./debug_server.ts";
import { screenshot } from "./debugged_job.ts";

const STOP = { timeout: 60_000 };

const state = (page: Page) => page.getByRole("status", { name: "Job state" });
const button = (page: Page, name: string) => page.getByRole("button", { name, exact: true });
const incidents = (page: Page) => page.getByRole("list", { name: "Incidents" }).getByRole("listitem");

async function openJob(page: Page, url: string, script: string): Promise<void> {
  await page.goto(url);
  await page.getByRole("link", { name: script }).click({ timeout: STOP.timeout });
  await expect(state(page)).toHaveText(/paused/i, STOP);
}

async function watch(page: Page, condition: string): Promise<void> {
  await button(page, "Add watchpoint").first().click();
  const form = page.getByRole("form", { name: "New watchpoint" });
  await form.getByLabel("When").selectOption(condition);
  await form.getByLabel("On", { exact: true }).selectOption("everything");
  await form.getByRole("button", { name: "Add" }).click();
  await expect(page.getByRole("switch").first()).toBeVisible();
}

async function continueToStop(page: Page): Promise<void> {
  await button(page, "Continue").click();
  await expect(state(page)).toHaveText(/by a watchpoint/i, STOP);
}

test("an overflow in float16 is explained with its numbers", async ({ page, server }) => {
  await page.setViewportSize({ width: 1440, height: 900 });
  const url = await server.start();
  server.job("half", [host("half_attention.py")]);
  await openJob(page, url, "half_attention.py");
  await watch(page, "overflow");
  await continueToStop(page);

  const card = page.getByRole("region", { name: "Likely cause" });
  await incidents(page).first().getByText("Overflow in float16").click();
  await expect(card).toContainText(/Input reaches 3\d,\d{3}; × 8 = 2\d\d,\d{3} > 65,504\./, STOP);
  await expect(page.getByRole("toolbar", { name: "Run control" })).toContainText(/Overflow in float16 · forward\/2\/mul/);
  await page.screenshot({ path: screenshot("20-the-cause-of-an-overflow") });

  await card.getByRole("button", { name: "Same op in layer 1" }).click();
  await expect(page.getByRole("region", { name: "Node", exact: true })).toContainText("forward/1/mul");

  await page.emulateMedia({ colorScheme: "dark" });
  await page.screenshot({ path: screenshot("21-the-same-op-in-another-layer") });
});

test("the rank that was hit is shown", async ({ page, server }) => {
  const url = await server.start();
  const launcher = ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node=2"];
  const script = [host("digits_ddp.py"), "--corrupt-rank", "1", "--corrupt-step", "3"];
  server.job("ddp", [...launcher, ...script], { OMP_NUM_THREADS: "1" });
  await openJob(page, url, "digits_ddp.py");
  await expect(page.getByRole("button", { name: /^Rank 0 of 2/ })).toBeVisible(STOP);
  await watch(page, "nan");
  await continueToStop(page);
  await expect(page.getByRole("button", { name: /^Rank 1 of 2/ })).toBeVisible(STOP);
  const first = incidents(page).first();
  await expect(first).toContainText("Square root of a negative number", STOP);
  await expect(first.getByRole("img")).toHaveAccessibleName(/began on rank 1/);
  await first.getByText("Square root of a negative number").click();
  await expect(page.getByRole("region", { name: "Likely cause" })).toContainText("the root of a negative number is NaN");
  await page.screenshot({ path: screenshot("22-the-rank-that-was-hit") });
});
