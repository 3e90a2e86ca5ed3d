// The journeys of the guide (webui/docs/guide), by keys alone, at 1,280 × 720: every command that its
// pages show is run, and every picture taken. `tools/dev screenshots` takes those of the guide anew.
import { expect } from "@playwright/test";
import { test, WAIT } from "./guide.ts";

test("your first stop", async ({ page, follow }) => {
  const guide = follow("first-stop");
  await guide.open("digits_cnn.py");
  await guide.picture("first-stop-start");
  await guide.command("stop at the first nan");
  await page.keyboard.press("F8");
  await expect(guide.state()).toHaveText(/by a watchpoint/i, WAIT);
  await page.keyboard.press("n");
  await expect(page.getByRole("region", { name: "Likely cause" })).toContainText("Logarithm of zero", WAIT);
  await guide.picture("first-stop-stopped");
  await page.keyboard.press("F10");
  await page.keyboard.press("Shift+F5");
  await guide.press(page.getByRole("button", { name: "Terminate job" }));
  await expect(guide.state()).toHaveText(/terminated/i, WAIT);
  guide.done();
});

test("watchpoints", async ({ page, follow }) => {
  const guide = follow("watchpoints");
  await guide.open("digits_cnn.py");
  await guide.command("add watchpoint");
  const form = page.getByRole("form", { name: "New watchpoint" });
  await expect(form.getByLabel("When")).toBeFocused();
  await page.keyboard.type("custom");
  await guide.picture("watchpoints-form");
  guide.done();
});

test("finding where a NaN began", async ({ page, follow }) => {
  const guide = follow("nan");
  await guide.open("half_attention.py");
  await page.keyboard.press("n");
  await expect(page.getByRole("region", { name: "Likely cause" })).toContainText("Overflow in float16", WAIT);
  await guide.picture("nan-cause");
  guide.done();
});

test("training that does not learn", async ({ page, follow }) => {
  const guide = follow("not-learning");
  await guide.open("not_training.py");
  await page.keyboard.press("n");
  await guide.picture("not-learning-broadcast");
  await guide.open("deep_sigmoid.py");
  await page.keyboard.press("o");
  await guide.picture("not-learning-overview");
  guide.done();
});

test("several ranks", async ({ page, follow }) => {
  const guide = follow("ranks");
  await guide.open("torchrun");
  await page.keyboard.press("n");
  await guide.picture("ranks-hit");
  guide.done();
});

test("looking at a model", async ({ page, follow }) => {
  const guide = follow("models");
  await guide.run("export_model.py");
  await guide.open("graphdbg open");
  await guide.picture("models-open");
  await guide.open("--random-inputs");
  await guide.picture("models-run");
  guide.done();
});
