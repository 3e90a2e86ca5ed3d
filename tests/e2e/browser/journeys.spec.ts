// The main uses of the page, each in a real browser with a real server and real training.
import { expect, type Page } from "@playwright/test";
import { host, test } from "./debug_server.ts";
import { screenshot } from "./debugged_job.ts";
import { sessionOf, useSession } from "./session.ts";

const STOP = { timeout: 60_000 };

const state = (page: Page) => page.getByRole("status", { name: "Job state" });
const button = (page: Page, name: string) => page.getByRole("button", { name, exact: true });
const step = (page: Page) => page.getByTestId("step");
const values = (page: Page) => page.getByRole("region", { name: "Values" });

// Opens the job of a script from the list of jobs; `rest` is appended to the address.
async function openJob(page: Page, url: string, script: string, rest = ""): Promise<void> {
  await page.goto(url);
  await page.getByRole("link", { name: script }).click({ timeout: STOP.timeout });
  await expect(state(page)).toHaveText(/paused/i, STOP);
  if (rest !== "") await page.goto(page.url() + rest);
}

// Runs to the end of the next step.
async function takeStep(page: Page, to: number): Promise<void> {
  await button(page, "Step").click();
  await expect(step(page)).toHaveText(String(to), STOP);
  await expect(state(page)).toHaveText(/paused/i, STOP);
}

test("a gradient that vanishes is found by the recommended set", async ({ page, server }) => {
  const url = await server.start();
  server.job("deep", [host("deep_sigmoid.py")]);
  await openJob(page, url, "deep_sigmoid.py");
  await button(page, "Add recommended set").click();
  await expect(page.getByRole("switch", { name: /Vanishing gradient/ })).toBeVisible();
  await button(page, "Continue").click();
  const hits = page.getByRole("listbox", { name: "Hits" });
  await expect(state(page)).toHaveText(/by a watchpoint/i, STOP);
  await button(page, "All hits").click();
  const vanished = hits.getByRole("option", { name: /backward\/.*Vanishing gradient/ }).first();
  await expect(vanished).toBeVisible(STOP);
  await vanished.click();
  await expect(page.getByRole("region", { name: "Source" })).toContainText("model(images[batch])");
  await page.getByRole("tab", { name: "Histogram" }).click();
  await expect(page.getByText(/finite elements/)).toBeVisible();
  await page.screenshot({ path: screenshot("5-a-gradient-vanishes") });
});

test("a loss that broadcasts its labels is found without a threshold", async ({ page, server }) => {
  const url = await server.start();
  server.job("regression", [host("not_training.py"), "broadcast"]);
  await openJob(page, url, "not_training.py");
  await button(page, "Stop if it does not learn").click();
  await expect(page.getByRole("switch", { name: /Loss broadcasts the labels/ })).toBeVisible();
  await button(page, "Continue").click();
  await expect(state(page)).toHaveText(/by a watchpoint/i, STOP);
  await button(page, "All hits").click();
  const found = page.getByRole("listbox", { name: "Hits" }).getByRole("option", { name: /Loss broadcasts the labels/ });
  await expect(found).toHaveCount(1);
  await expect(found).toContainText("outputs of shape [16, 1] with labels of shape [16]");
  await found.click();
  await expect(page.getByRole("region", { name: "Source" })).toContainText("y.float()) ** 2");
  await page.getByRole("tab", { name: "Advice" }).click();
  await expect(values(page)).toContainText("output.squeeze(1)");
  await page.screenshot({ path: screenshot("13-a-loss-broadcasts-its-labels") });
});

test("a weight is compared with itself a step before, over a reload", async ({ page, browser, server }) => {
  const url = await server.start();
  server.job("digits", [host("digits_cnn.py")]);
  await openJob(page, url, "digits_cnn.py", "?node=forward/fc1/weight");
  await expect(values(page).getByRole("grid")).toBeVisible(STOP);
  await takeStep(page, 1);
  await takeStep(page, 2);
  await page.getByRole("tab", { name: "Compare" }).click();
  const figures = page.getByLabel("Comparison");
  await expect(figures).toContainText(/of 32,768 not close/, STOP);
  await expect(values(page).getByRole("grid")).toHaveCount(3);
  await page.getByLabel("rtol").fill("1");
  await page.getByLabel("rtol").press("Enter");
  await page.getByLabel("atol").fill("1");
  await page.getByLabel("atol").press("Enter");
  await expect(figures).toContainText("all 32,768 close");
  await page.getByLabel("Slice").fill("[:4, ::64]");
  await page.getByLabel("Slice").press("Enter");
  await expect(figures).toContainText("all 32 close");

  await page.reload();
  await expect(state(page)).toHaveText(/paused/i, STOP);
  await expect(values(page).getByRole("grid")).toHaveCount(3);
  await expect(page.getByLabel("Slice")).toHaveValue("[:4, ::64]");

  // The history has every step. The screenshots show both themes.
  await page.getByRole("tab", { name: "History" }).click();
  await expect(values(page)).toContainText(/[23] steps/);
  for (const scheme of ["light", "dark"] as const) {
    await page.emulateMedia({ colorScheme: scheme });
    await page.screenshot({ path: screenshot(`6-history-${scheme}`) });
    await page.getByRole("tab", { name: "Heat map" }).click();
    await expect(page.getByRole("img", { name: /^4 by 8 values/ })).toBeVisible();
    await page.screenshot({ path: screenshot(`7-heat-map-${scheme}`) });
    await page.getByRole("tab", { name: "History" }).click();
  }

  // Opens the address in another browser, which needs only the session.
  const other = await (await browser.newContext()).newPage();
  await useSession(other, await sessionOf(page));
  await other.goto(page.url());
  await expect(other.getByRole("heading", { name: "forward/fc1/weight" })).toBeVisible(STOP);
  await expect(other.getByRole("tab", { name: "History" })).toHaveAttribute("aria-selected", "true");
  await other.context().close();
});

test("an activation is kept from one step to the next, and its history recorded, by one click each", async ({ page, server }) => {
  const url = await server.start();
  server.job("digits", [host("digits_cnn.py")]);
  await openJob(page, url, "digits_cnn.py");
  await takeStep(page, 1);
  await page.goto(page.url() + "?node=forward/relu&panel=compare");
  await expect(values(page)).toContainText("weren't recorded", STOP);
  await button(page, "Keep previous values").click();
  const kept = page.getByRole("switch", { name: /Watchpoint 1: Keeps previous values on forward\/relu/ });
  await expect(kept).toBeVisible();
  await expect(values(page)).toContainText("Watchpoint 1 keeps previous-step values");
  await button(page, "Run one step").click();
  await expect(page.getByLabel("Comparison")).toContainText(/of [\d,]+ not close/, STOP);
  await expect(values(page).getByRole("region", { name: "step 1" })).toBeVisible();
  await kept.uncheck();
  await expect(values(page)).toContainText("Watchpoint 1, which recorded its values, is disabled.");
  await button(page, "Delete watchpoint 1").click();
  await expect(values(page)).toContainText("Watchpoint 1, which recorded its values, was deleted.");
  await page.screenshot({ path: screenshot("13-kept-no-longer") });

  await page.getByRole("tab", { name: "History" }).click();
  await button(page, "Record history").click();
  const recorded = page.getByRole("switch", { name: /Watchpoint 2: Records statistics at every step on forward\/relu/ });
  await expect(recorded).toBeVisible();
  await button(page, "Undo").last().click();
  await expect(recorded).toBeHidden();
  await button(page, "Record history").click();
  await expect(page.getByRole("switch", { name: /^Watchpoint 3: Records/ })).toBeVisible();
  await page.getByLabel("Number of steps").fill("6");
  await takeStep(page, 8);
  // The job did not pause in between.
  await expect(values(page)).toContainText("8 steps recorded", STOP);

  await page.getByRole("tab", { name: "Log" }).click();
  const log = page.getByRole("list", { name: "Log" });
  await expect(log).toContainText("Watchpoint 1 deleted: Keeps previous values on forward/relu");
  await expect(log).toContainText("Step 6 · this page");
  await expect(log).toContainText("Paused after a step, step 8");
});

test("two ranks stop together, and one is compared with the other", async ({ page, server }) => {
  const url = await server.start();
  const launcher = ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node=2"];
  const script = [host("digits_ddp.py"), "--corrupt-rank", "1", "--corrupt-step", "3"];
  server.job("ddp", [...launcher, ...script], { OMP_NUM_THREADS: "1" });
  await openJob(page, url, "digits_ddp.py");
  await expect(page.getByRole("button", { name: /^Rank 0 of 2/ })).toBeVisible(STOP);
  await button(page, "Add watchpoint").first().click();
  await page.getByRole("form").getByRole("button", { name: "Add" }).click();
  await expect(page.getByRole("switch")).toBeVisible();
  await button(page, "Continue").click();
  await expect(state(page)).toHaveText(/by a watchpoint/i, STOP);

  const first = page.getByRole("listbox", { name: "Hits" }).getByRole("option").first();
  await expect(first).toHaveAccessibleName(/sqrt.*r1/);
  await first.click();
  await expect(page.getByRole("button", { name: /^Rank 1 of 2/ })).toBeVisible();
  await expect(values(page).getByLabel("Statistics")).toContainText(/NaN\s*1/, STOP);
  await page.getByRole("button", { name: /^Rank 1 of 2/ }).click();
  await page.getByRole("button", { name: /^Rank 0, paused/ }).click();
  await button(page, "Compare with rank 0").click();
  await expect(page.getByRole("region", { name: /^rank 0, step 3/ })).toBeVisible(STOP);
  await expect(page.getByRole("region", { name: /^rank 1, step 3/ })).toBeVisible();
  await page.screenshot({ path: screenshot("8-two-ranks") });
});

test("a server that is killed and comes back finds page and job as they were", async ({ page, server }) => {
  const url = await server.start();
  server.job("digits", [host("digits_cnn.py")]);
  await openJob(page, url, "digits_cnn.py", "?node=forward/fc2/weight");
  await takeStep(page, 1);
  await button(page, "Add watchpoint").first().click();
  await page.getByRole("form").getByLabel("Then").selectOption("log without pausing");
  await page.getByRole("form").getByRole("button", { name: "Add" }).click();
  await expect(page.getByRole("switch")).toBeVisible();
  await server.kill();
  await expect(page.getByText("Connection to the server lost.")).toBeVisible(STOP);
  await expect(button(page, "Step")).toHaveAttribute("aria-disabled", "true");
  await page.screenshot({ path: screenshot("9-the-server-is-gone") });

  await server.start();
  await expect(page.getByText("Connection to the server lost.")).toBeHidden(STOP);
  await expect(state(page)).toHaveText(/paused/i, STOP);
  await expect(page.getByRole("switch", { name: /Watchpoint 1: NaN or infinity/ })).toBeChecked();
  await takeStep(page, 2);
  await expect(values(page)).toContainText("step 2", STOP);
});

test("all of it by keys alone", async ({ page, server }) => {
  const url = await server.start();
  server.job("digits", [host("digits_cnn.py"), "--lr", "0.2"]);
  await openJob(page, url, "digits_cnn.py");
  const { keyboard } = page;
  const command = async (text: string) => {
    await keyboard.press("Control+k");
    await expect(page.getByRole("combobox", { name: "Command or node" })).toBeFocused();
    await keyboard.type(text);
    await keyboard.press("Enter");
    await expect(page.getByRole("dialog")).toBeHidden();
  };

  // Adds a watchpoint: the form opens with the focus on its first field.
  await command("add watchpoint");
  const form = page.getByRole("form", { name: "New watchpoint" });
  await expect(form.getByLabel("When")).toBeFocused();
  // The condition's advanced parameters, which are folded, come first.
  const folded = (title: string) => form.getByText(title);
  for (const field of [folded("Advanced"), form.getByLabel("On", { exact: true }), folded("More…"), form.getByLabel("Then")]) {
    await keyboard.press("Tab");
    await expect(field).toBeFocused();
  }
  // The guide and Cancel come before it.
  for (let presses = 0; presses < 3; presses += 1) await keyboard.press("Tab");
  await expect(form.getByRole("button", { name: "Add" })).toBeFocused();
  await keyboard.press("Enter");
  await expect(page.getByRole("switch")).toBeVisible();

  await keyboard.press("F10");
  await expect(step(page)).toHaveText("1", STOP);
  await keyboard.press("F5");
  await expect(state(page)).toHaveText(/by a watchpoint/i, STOP);

  // Goes to the hit, then to its values.
  await keyboard.press("n");
  await expect(page.getByRole("heading", { name: "forward/log" })).toBeVisible();
  const grid = values(page).getByRole("grid");
  await expect(grid).toBeVisible(STOP);
  await grid.focus();
  await keyboard.press("ArrowDown");
  await expect(values(page)).toContainText("[3, 0] =");

  // Compares it with its input, by the palette and the tabs.
  await command("show comparison");
  const against = page.getByLabel("Compare with");
  await against.focus();
  await keyboard.type("another tensor");
  const tensor = page.getByLabel("Tensor to compare with");
  await tensor.focus();
  await keyboard.press("Control+a");
  await keyboard.type("forward/_softmax:0");
  await keyboard.press("Enter");
  await expect(page.getByLabel("Comparison")).toContainText(/of 640 not close/, STOP);
  await page.screenshot({ path: screenshot("10-by-keys-alone") });

  await keyboard.press("Shift+F5");
  await expect(page.getByRole("alertdialog")).toBeVisible();
  await keyboard.press("Tab");
  await keyboard.press("Enter");
  await expect(state(page)).toHaveText(/terminated/i, STOP);
  // Data already loaded remains.
  await page.keyboard.press("Escape");
  await expect(page.getByRole("listbox", { name: "Hits" }).getByRole("option").first()).toBeVisible();
});
