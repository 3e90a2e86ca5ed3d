// A training that was not started for debugging: attached to from the page, changed, and left again.
import { expect, type Page } from "@playwright/test";
import { violations } from "./accessibility.ts";
import { host, test } from "./debug_server.ts";
import { screenshot } from "./debugged_job.ts";

const WAIT = { timeout: 60_000 };

test.use({ viewport: { width: 1280, height: 720 } });

const state = (page: Page) => page.getByRole("status", { name: "Job state" });
const button = (page: Page, name: string) => page.getByRole("button", { name, exact: true });
const values = (page: Page) => page.getByRole("region", { name: "Values" });

test("a training is attached to, changed and left", async ({ page, server }) => {
  const url = await server.start();
  const program = server.program([host("attached_training.py"), "none"]);
  await page.goto(url);
  const row = page.getByRole("table", { name: "Trainings on this machine" }).getByRole("row", { name: String(program.pid) });
  // It is listed as soon as it has loaded PyTorch.
  await expect(async () => {
    await button(page, "Refresh").click();
    await expect(row).toContainText("attached_training.py", { timeout: 5000 });
  }).toPass(WAIT);
  expect(await violations(page)).toEqual([]);
  await row.getByRole("button", { name: /^Attach to/ }).press("Enter");
  await expect(state(page)).toHaveText(/running/i, WAIT);

  await page.keyboard.press("F6");
  await expect(state(page)).toHaveText(/paused/i, WAIT);
  await page.goto(`${page.url().split("?")[0]}?node=forward/2/weight`);
  await expect(values(page).getByRole("grid")).toBeVisible(WAIT);
  await button(page, "Change").press("Enter");
  const form = page.getByRole("form", { name: "Change the paused job" });
  await form.getByLabel("New values").fill("0.25");
  await form.getByLabel("Slice").fill("[0,:2]");
  await page.keyboard.press("Enter");
  await expect(form.getByRole("status")).toContainText(/2 elements, .* -> 0\.25/, WAIT);
  expect(await violations(page)).toEqual([]);
  await page.keyboard.press("Escape");
  await expect(values(page).getByRole("gridcell", { name: "0.25" }).first()).toBeVisible(WAIT);
  await page.screenshot({ path: screenshot("40-changed") });

  await button(page, "Detach").press("Enter");
  const end = page.getByRole("note", { name: "How the job ended" });
  await expect(end).toContainText("The program still runs, without graphdbg.", WAIT);
  expect(await violations(page)).toEqual([]);
  await page.screenshot({ path: screenshot("41-detached") });
  await end.getByRole("button", { name: "Attach again" }).press("Enter");
  await expect(state(page)).toHaveText(/running/i, WAIT);
  expect(program.exitCode).toBeNull();
});
