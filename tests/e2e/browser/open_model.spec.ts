// A model file, chosen or dropped on the list of jobs, is shown and not run.
import { expect, type Page } from "@playwright/test";
import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { screenshot } from "./debugged_job.ts";
import { test } from "./debug_server.ts";

const root = join(dirname(fileURLToPath(import.meta.url)), "../../..");

function exportedModel(): string {
  const file = join(mkdtempSync(join(tmpdir(), "graphdbg-model-")), "tiny net.onnx");
  const script = [
    "import sys, onnx.parser",
    'text = \'<ir_version: 8, opset_import: ["" : 17]> g (float[2, 3] x) => (float[2, 3] y) { a = Relu(x) y = Sigmoid(a) }\'',
    "onnx.save(onnx.parser.parse_model(text), sys.argv[1])",
  ];
  execFileSync(join(root, ".venv/bin/python"), ["-c", script.join("\n"), file]);
  return file;
}

const treeItem = (page: Page, label: string) =>
  page.getByRole("tree", { name: "Nodes" }).getByRole("treeitem", { name: new RegExp(`^${label}`) });

/** What a file manager does when a file is let go over the element. */
async function drop(page: Page, name: string, bytes: Buffer): Promise<void> {
  const data = await page.evaluateHandle(
    ({ name, bytes }) => {
      const transfer = new DataTransfer();
      transfer.items.add(new File([new Uint8Array(bytes)], name));
      return transfer;
    },
    { name, bytes: [...bytes] },
  );
  await page.dispatchEvent("main", "dragover", { dataTransfer: data });
  await expect(page.locator("main")).toHaveClass(/jobs-drop/);
  await page.dispatchEvent("main", "drop", { dataTransfer: data });
}

test("a model file opens from the page", async ({ page, server }) => {
  const file = exportedModel();
  await page.goto(await server.start());
  const chooser = page.waitForEvent("filechooser");
  await page.getByRole("button", { name: "Open a model" }).click();
  await (await chooser).setFiles(file);
  await expect(page.getByRole("heading", { level: 1 })).toHaveText("tiny net.onnx");
  await expect(page.getByRole("status", { name: "Job state" })).toHaveText(/finished/i);
  await expect(treeItem(page, "tiny net")).toBeVisible();
  await treeItem(page, "Sigmoid").click();
  await expect(page.getByRole("region", { name: "Node", exact: true })).toContainText("Sigmoid");
  await page.screenshot({ path: screenshot("open-model-1-shown") });

  // Dropped, under another name; the list has both.
  await page.getByRole("button", { name: /all jobs/ }).click();
  await drop(page, "dropped.onnx", readFileSync(file));
  await expect(page.getByRole("heading", { level: 1 })).toHaveText("dropped.onnx");
  await page.getByRole("button", { name: /all jobs/ }).click();
  await expect(page.getByRole("link", { name: /onnx/ })).toHaveCount(2);

  // What is no model says so, and nothing is lost.
  const odd = join(dirname(file), "odd.onnx");
  writeFileSync(odd, "not at all");
  await page.getByLabel("Model file").setInputFiles(odd);
  await expect(page.getByText("odd.onnx cannot be opened")).toBeVisible();
  await expect(page.getByText(/is no ONNX model/)).toBeVisible();
  await page.screenshot({ path: screenshot("open-model-2-refused") });
  await expect(page.getByRole("link", { name: /onnx/ })).toHaveCount(2);
});
