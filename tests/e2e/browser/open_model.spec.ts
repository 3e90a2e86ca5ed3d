// A model file, chosen or dropped on the list of jobs, is shown and not run.
import { expect, type Page } from "@playwright/test";
import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { screenshot } from "./debugged_job.ts";
import { test } from "./debug_server.ts";

const WEIGHTS = "net.data";

const root = join(dirname(fileURLToPath(import.meta.url)), "../../..");

function exportedModel(): string {
  const file = join(mkdtempSync(join(tmpdir(), "graphdbg-model-")), "tiny net.onnx");
  const script = [
    "import sys, onnx.parser",
    'text = \'<ir_version: 8, opset_import: ["" : 17]> g (float[3] x) => (float[3] y) <float[3] w = {1, 2, 3}> { a = Add(x, w) y = Sigmoid(a) }\'',
    "model = onnx.parser.parse_model(text)",
    // Only raw data can be stored in a separate file.
    "model.graph.initializer[0].CopyFrom(onnx.numpy_helper.from_array(onnx.numpy_helper.to_array(model.graph.initializer[0]), 'w'))",
    "beside = dict(save_as_external_data=True, location=sys.argv[2], size_threshold=0)",
    "onnx.save(model, sys.argv[1], **beside)",
  ];
  execFileSync(join(root, ".venv/bin/python"), ["-c", script.join("\n"), file, WEIGHTS]);
  return file;
}

const treeItem = (page: Page, label: string) =>
  page.getByRole("tree", { name: "Nodes" }).getByRole("treeitem", { name: new RegExp(`^${label}`) });

/** Drops files on the page, as a file manager would. */
async function drop(page: Page, files: Record<string, Buffer>): Promise<void> {
  const data = await page.evaluateHandle(
    (files) => {
      const transfer = new DataTransfer();
      for (const [name, bytes] of files) transfer.items.add(new File([new Uint8Array(bytes)], name));
      return transfer;
    },
    Object.entries(files).map(([name, bytes]): [string, number[]] => [name, [...bytes]]),
  );
  await page.dispatchEvent("main", "dragover", { dataTransfer: data });
  await expect(page.locator("main")).toHaveClass(/jobs-drop/);
  await page.dispatchEvent("main", "drop", { dataTransfer: data });
}

test("a model file opens from the page", async ({ page, server }) => {
  const file = exportedModel();
  await page.goto(await server.start());
  const chooser = page.waitForEvent("filechooser");
  await page.getByRole("button", { name: "Open model" }).click();
  await (await chooser).setFiles(file);
  await expect(page.getByRole("heading", { level: 1 })).toHaveText("tiny net.onnx");
  await expect(page.getByRole("status", { name: "Job state" })).toHaveText("Model, not run");
  await expect(treeItem(page, "tiny net")).toBeVisible();
  await treeItem(page, "Sigmoid").click();
  await expect(page.getByText("tiny net/Sigmoid")).toBeVisible();
  await page.screenshot({ path: screenshot("open-model-1-shown") });

  // Dropped under another name and with its weights; the list has both.
  await page.getByRole("button", { name: /all jobs/ }).click();
  const weights = readFileSync(join(dirname(file), WEIGHTS));
  await drop(page, { [WEIGHTS]: weights, "dropped.onnx": readFileSync(file) });
  await expect(page.getByRole("heading", { level: 1 })).toHaveText("dropped.onnx");
  await expect(page.getByRole("status", { name: "Job state" })).toHaveText("Model, not run");
  await page.getByRole("button", { name: /all jobs/ }).click();
  await expect(page.getByRole("link", { name: /onnx/ })).toHaveCount(2);

  // A file that is not a model is rejected, and nothing else changes.
  const odd = join(dirname(file), "odd.onnx");
  writeFileSync(odd, "not at all");
  await page.getByLabel("Model file").setInputFiles(odd);
  await expect(page.getByText("Could not open odd.onnx")).toBeVisible();
  await expect(page.getByText(/is not an ONNX model/)).toBeVisible();
  await page.screenshot({ path: screenshot("open-model-2-refused") });
  await expect(page.getByRole("link", { name: /onnx/ })).toHaveCount(2);
});
