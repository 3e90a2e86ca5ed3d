// A program with two models has two graphs, of which the page shows one at a time.
import { expect, type Page } from "@playwright/test";
import { screenshot, test } from "./debugged_job.ts";

const state = (page: Page) => page.getByRole("status", { name: "Job state" });
const button = (page: Page, name: string) => page.getByRole("button", { name, exact: true });
const tree = (page: Page) => page.getByRole("tree", { name: "Nodes" });
const chooser = (page: Page) => page.getByRole("combobox", { name: "Graph shown" });

test("every graph of a job can be looked at", async ({ page, debug }) => {
  const job = debug("onnx/two_models.py");
  await page.goto(await job.url());
  await expect(state(page)).toHaveText(/paused/i, { timeout: 30_000 });
  await expect(chooser(page)).toHaveValue("encoder");
  await expect(tree(page).getByRole("treeitem", { name: /^encoder/ })).toBeVisible();

  await chooser(page).selectOption("decoder");
  await expect(tree(page).getByRole("treeitem", { name: /^decoder/ })).toBeVisible();
  await expect(tree(page).getByRole("treeitem", { name: /^encoder/ })).toHaveCount(0);
  await expect(page.getByRole("img", { name: /^Graph: \d+ nodes?/ })).toBeVisible();
  expect(page.url()).toContain("graph=decoder");
  await page.screenshot({ path: screenshot("graphs-1-the-second-of-two") });

  // A reload shows the same graph, and Back returns to the first one.
  await page.reload();
  await expect(chooser(page)).toHaveValue("decoder");
  await page.goBack();
  await expect(chooser(page)).toHaveValue("encoder");

  // The search covers all graphs, and choosing a result switches to its graph.
  await page.getByRole("searchbox", { name: "Search nodes" }).fill("Sigmoid");
  await page.keyboard.press("Enter");
  await expect(chooser(page)).toHaveValue("decoder");
  await expect(page.getByRole("region", { name: "Node", exact: true })).toContainText("decoder/Sigmoid");
  await page.keyboard.press("Escape");
  await expect(tree(page).getByRole("treeitem", { name: /^Sigmoid/, selected: true })).toBeVisible();

  // The page also switches to the graph in which the job pauses.
  for (const node of ["encoder/x", "encoder/linear/MatMul", "encoder/Relu", "decoder/codes"]) {
    await button(page, "Next node").click();
    await expect(page.getByTestId("current-node")).toHaveText(node, { timeout: 30_000 });
    await expect(chooser(page)).toHaveValue(node.slice(0, node.indexOf("/")));
  }
  await page.screenshot({ path: screenshot("graphs-2-stopped-in-the-second") });
  await button(page, "Terminate").click();
});
