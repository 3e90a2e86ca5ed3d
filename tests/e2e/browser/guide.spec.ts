// The journeys of the guide (webui/docs/guide), by keys alone, at 1,280 × 720: every command that its
// pages show is run, and every picture taken. `tools/dev screenshots` takes those of the guide anew.
import { expect, type Page } from "@playwright/test";
import { test, WAIT } from "./guide.ts";

// Each starts several programs.
test.describe.configure({ timeout: 400_000 });

const cause = (page: Page) => page.getByRole("region", { name: "Likely cause" });
const node = (page: Page) => page.getByRole("region", { name: "Node", exact: true });
const button = (page: Page, name: string) => page.getByRole("button", { name, exact: true });
const PAUSED_BY_WATCHPOINT = /by a watchpoint/i;

test("your first stop", async ({ page, follow }) => {
  const guide = follow("first-stop");
  await guide.open("digits_cnn.py");
  await guide.picture("first-stop-start");
  await guide.press(button(page, "Stop at the first NaN"));
  await expect(page.getByRole("switch", { name: /NaN or infinity on everything/ })).toBeVisible();
  await page.keyboard.press("F8");
  await expect(guide.state()).toHaveText(PAUSED_BY_WATCHPOINT, WAIT);
  await page.keyboard.press("n");
  await expect(cause(page)).toContainText("Logarithm of a softmax that is zero", WAIT);
  await expect(cause(page)).toContainText("log_softmax(x)");
  await expect(page.getByRole("region", { name: "Source" })).toContainText("torch.log(probabilities)");
  await guide.picture("first-stop-stopped");
  await page.keyboard.press("Shift+F5");
  await guide.press(button(page, "Terminate job"));
  await expect(guide.state()).toHaveText(/terminated/i, WAIT);

  await guide.open("wrong_features.py");
  await page.keyboard.press("F8");
  await expect(guide.state()).toHaveText(/at an exception/i, WAIT);
  await expect(page.getByText(/mat1 and mat2 shapes cannot be multiplied/).first()).toBeVisible();
  await guide.picture("first-stop-exception");
  await page.keyboard.press("F8");
  await expect(guide.state()).toHaveText(/failed/i, WAIT);
  guide.done();
});

test("watchpoints", async ({ page, follow }) => {
  const guide = follow("watchpoints");
  await guide.open("digits_cnn.py");
  await guide.command("add watchpoint");
  const form = page.getByRole("form", { name: "New watchpoint" });
  await expect(form.getByLabel("When")).toBeFocused();
  await page.keyboard.type("custom");
  await guide.tabTo(form.getByPlaceholder("abs_max > 1e3 && step > 100"));
  await page.keyboard.type("abs_max > 30");
  await guide.tabTo(form.getByLabel("On", { exact: true }));
  await page.keyboard.type("nodes matching");
  await guide.tabTo(form.getByLabel("Pattern"));
  await page.keyboard.type("forward/fc2/**");
  await guide.picture("watchpoints-form");
  await page.keyboard.press("Enter");
  await expect(page.getByRole("switch")).toBeVisible();
  await page.keyboard.press("F8");
  await expect(guide.state()).toHaveText(PAUSED_BY_WATCHPOINT, WAIT);
  await page.keyboard.press("n");
  await expect(node(page)).toContainText("forward/fc2/", WAIT);
  await guide.picture("watchpoints-hit");
  await guide.stop();
  expect(await guide.run("graphdbg conditions")).toContain("gradient");
  // The job is terminated at its first hit.
  expect(await guide.run("--on-hit terminate", 143)).toContain("(gradient_vanishing) hit in step");
  guide.done();
});

test("finding where a NaN began", async ({ page, follow }) => {
  const guide = follow("nan");
  await guide.open("half_attention.py");
  await expect(guide.state()).toHaveText(PAUSED_BY_WATCHPOINT, WAIT);
  await page.keyboard.press("n");
  await expect(cause(page)).toContainText(/Overflow in float16 Input reaches 3\d,\d{3}; × 8 = 2\d\d,\d{3} > 65,504\./, WAIT);
  await guide.picture("nan-cause");
  await guide.press(cause(page).getByRole("button", { name: "Same op in layer 1" }));
  await expect(node(page)).toContainText("forward/1/mul_1", WAIT);
  await page.keyboard.press("n");
  await expect(node(page)).toContainText("forward/2/mul_1", WAIT);
  await guide.press(cause(page).getByRole("button", { name: "Input over steps" }));
  await expect(node(page)).toContainText(/\d steps/, WAIT);
  await guide.picture("nan-history");

  await guide.open("unet.py");
  await expect(guide.state()).toHaveText(PAUSED_BY_WATCHPOINT, WAIT);
  await page.keyboard.press("n");
  await expect(cause(page)).toContainText("Overflow in float16", WAIT);
  await expect(node(page)).toContainText("forward/middle/mul");
  await guide.picture("nan-unet");
  await guide.tabTo(page.getByRole("tree", { name: "Nodes" }));
  await page.keyboard.press("a");
  await expect(page.getByRole("group", { name: "Neighbourhood" })).toHaveCount(0);
  guide.done();
});

test("training that does not learn", async ({ page, follow }) => {
  const guide = follow("not-learning");
  await guide.open("not_training.py");
  await expect(guide.state()).toHaveText(PAUSED_BY_WATCHPOINT, WAIT);
  await page.keyboard.press("n");
  await expect(cause(page)).toContainText("Loss broadcasts the labels", WAIT);
  await expect(page.getByRole("region", { name: "Source" })).toContainText("y.float()) ** 2");
  await guide.picture("not-learning-broadcast");

  await guide.open("deep_sigmoid.py");
  await guide.tabTo(page.getByLabel("Number of steps"));
  await page.keyboard.press("Control+a");
  await page.keyboard.type("40");
  await page.keyboard.press("F10");
  await expect(page.getByTestId("step")).toHaveText("40", WAIT);
  await expect(guide.state()).toHaveText(/paused/i, WAIT);
  await guide.command("show overview");
  await guide.tabTo(page.getByRole("tab", { name: "Activation" }));
  await page.keyboard.press("ArrowRight");
  await expect(page.getByRole("img", { name: /^L2 norm of the parameters’ gradients/ })).toBeVisible(WAIT);
  await guide.picture("not-learning-overview");
  guide.done();
});

test("several ranks", async ({ page, follow }) => {
  const guide = follow("ranks");
  await guide.open("torchrun");
  await expect(guide.state()).toHaveText(PAUSED_BY_WATCHPOINT, WAIT);
  await page.keyboard.press("n");
  await expect(cause(page)).toContainText("Square root of a negative number", WAIT);
  await expect(page.getByRole("button", { name: /^Rank 1 of 2/ })).toBeVisible(WAIT);
  await guide.picture("ranks-hit");
  await guide.press(page.getByRole("button", { name: /^Rank 1 of 2/ }));
  await expect(page.getByRole("button", { name: /^Rank 1, paused/ })).toBeFocused();
  await page.keyboard.press("ArrowLeft");
  await guide.press(button(page, "Compare with rank 0"));
  await expect(page.getByRole("region", { name: /^rank 0, step 3/ })).toBeVisible(WAIT);
  await guide.picture("ranks-compare");
  guide.done();
});

test("looking at a model", async ({ page, follow }) => {
  const guide = follow("models");
  await guide.run("export_model.py");
  await guide.open("graphdbg open");
  await guide.picture("models-open");
  await expect(page.getByRole("searchbox", { name: "Search nodes" })).toBeVisible(WAIT);
  await page.keyboard.press("/");
  await page.keyboard.type("type:Gemm");
  await page.keyboard.press("Enter");
  // Escape before the results are those of the whole text would give the search up.
  await expect(page.getByRole("region", { name: "Node properties" })).toContainText("Gemm", WAIT);
  await page.keyboard.press("Escape");
  await guide.picture("models-op");

  await guide.open("--random-inputs");
  await page.keyboard.press("F10");
  await expect(page.getByTestId("step")).toHaveText("1", WAIT);
  await expect(page.getByRole("searchbox", { name: "Search nodes" })).toBeVisible(WAIT);
  await page.keyboard.press("/");
  await page.keyboard.type("type:LogSoftmax");
  await page.keyboard.press("Enter");
  // Escape before the results are those of the whole text would give the search up.
  await expect(node(page)).toContainText("LogSoftmax", WAIT);
  await page.keyboard.press("Escape");
  await guide.picture("models-run");
  guide.done();
});
