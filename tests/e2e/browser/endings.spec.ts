// How jobs end, by keys alone, at 1,280 × 720: a process that disappears, and a page that stays after the end.
import { expect, type Page } from "@playwright/test";
import { press, violations } from "./accessibility.ts";
import { host, test as withServer } from "./debug_server.ts";
import { screenshot, test as withJob } from "./debugged_job.ts";

const WAIT = { timeout: 60_000 };

withServer.use({ viewport: { width: 1280, height: 720 } });
withJob.use({ viewport: { width: 1280, height: 720 } });

const state = (page: Page) => page.getByRole("status", { name: "Job state" });
const button = (page: Page, name: string) => page.getByRole("button", { name, exact: true });
const node = (page: Page) => page.getByRole("region", { name: "Node", exact: true });
const values = (page: Page) => page.getByRole("region", { name: "Values" });
const end = (page: Page) => page.getByRole("note", { name: "How the job ended" });

// Opens the job, from the list of jobs unless the page goes to it by itself.
async function open(page: Page, url: string): Promise<void> {
  await page.goto(url);
  const job = page.getByRole("link", { name: "digits_cnn.py" });
  await job.or(state(page)).waitFor(WAIT);
  if (await job.isVisible()) await press(page, job);
  await expect(state(page)).toHaveText(/paused/i, WAIT);
}

// Goes to a node by the search.
async function search(page: Page, text: string): Promise<void> {
  await expect(page.getByRole("searchbox", { name: "Search nodes" })).toBeVisible(WAIT);
  await page.keyboard.press("/");
  await page.keyboard.type(text);
  await page.keyboard.press("Enter");
  // Escape before the results are those of the whole text would give the search up.
  await expect(node(page)).toContainText(text, WAIT);
  await page.keyboard.press("Escape");
}

// What is left of a job whose process has gone: the graph, and the history of what was measured.
async function lookAround(page: Page): Promise<void> {
  await search(page, "fc1/weight");
  await expect(values(page)).toContainText("tensor values are no longer available");
  expect(await violations(page)).toEqual([]);
  await press(page, button(page, "Show history"));
  await expect(page.getByRole("tab", { name: "History" })).toHaveAttribute("aria-selected", "true");
  expect(await violations(page)).toEqual([]);
  // Nothing is offered that needs the job.
  await expect(button(page, "Step")).toHaveAttribute("aria-disabled", "true");
  await expect(button(page, "Add watchpoint")).toHaveCount(0);
  await expect(button(page, "Stop at the first NaN")).toHaveCount(0);
}

withServer("a job whose process disappears is lost, and what is known of it remains", async ({ page, server }) => {
  const url = await server.start();
  server.job("digits", [host("digits_cnn.py")]);
  await open(page, url);
  await page.keyboard.press("F10");
  await expect(page.getByTestId("step")).toHaveText("1", WAIT);
  await expect(state(page)).toHaveText(/paused/i, WAIT);

  await server.killJobs();
  await expect(state(page)).toHaveText(/lost/i, WAIT);
  await expect(end(page)).toContainText("The job is lost.");
  await expect(end(page)).toContainText("last seen after 1 step");
  expect(await violations(page)).toEqual([]);
  await page.screenshot({ path: screenshot("30-a-job-is-lost") });
  await lookAround(page);

  await press(page, page.getByRole("button", { name: /all jobs/ }));
  await expect(page.getByRole("row", { name: /digits_cnn\.py/ })).toContainText(/lost/i);
  expect(await violations(page)).toEqual([]);
});

withJob("the page stays after the job's end until the command is interrupted", async ({ page, hold }) => {
  const job = hold("digits_cnn.py", "--steps", "3");
  await open(page, await job.url());
  await page.keyboard.press("F10");
  await expect(page.getByTestId("step")).toHaveText("1", WAIT);
  await page.keyboard.press("F5");
  await expect(state(page)).toHaveText(/finished/i, WAIT);
  await expect(end(page)).toContainText("The job finished after 3 steps");
  expect(await violations(page)).toEqual([]);
  await lookAround(page);

  expect(job.stderr).toContain("graphdbg: the page stays, because a browser shows it; press Ctrl-C to end");
  job.interrupt();
  await expect(page.getByText("Server stopped when the job ended.")).toBeVisible(WAIT);
  expect(await job.exitCode()).toBe(0);
  // What was loaded can still be looked at.
  await search(page, "forward/relu");
  expect(await violations(page)).toEqual([]);
  await page.screenshot({ path: screenshot("31-the-server-has-stopped") });
});

withJob("the command ends when its page is left after the job's end", async ({ page, hold }) => {
  const job = hold("digits_cnn.py", "--steps", "2");
  await open(page, await job.url());
  await page.keyboard.press("F5");
  await expect(state(page)).toHaveText(/finished/i, WAIT);
  await page.goto("about:blank");
  expect(await job.exitCode()).toBe(0);
});
