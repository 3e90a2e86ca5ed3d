// Two recorded runs of a real training: steps forward and back, values, the first difference, a check.
import { expect, type Page } from "@playwright/test";
import { execFileSync } from "node:child_process";
import { mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { screenshot } from "./debugged_job.ts";
import { test } from "./debug_server.ts";

const python = join(dirname(fileURLToPath(import.meta.url)), "../../../.venv/bin/python");

// With "bad", the data changes in step 6, and the loss is infinite in step 8.
const TRAIN = `
import sys, torch
torch.manual_seed(0)
bad = sys.argv[1] == "bad"
class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.hidden, self.out = torch.nn.Linear(4, 8), torch.nn.Linear(8, 1)
    def forward(self, x):
        return self.out(torch.relu(self.hidden(x)))
net = Net()
optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
x = torch.randn(16, 4)
for step in range(1, 13):
    loss = net(x * 2 if bad and step == 6 else x).square().mean()
    if bad and step == 8:
        loss = loss / 0
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
`;
const CONFIG = `
record: {overhead: 0, parquet: false}
collections:
  - {name: losses}
  - {name: layers}
  - {name: weights, level: tensors, save: {every: 4}}
`;

function record(directory: string): string {
  const [script, config, runs] = ["train.py", "record.yaml", "runs"].map((name) => join(directory, name)) as [string, string, string];
  writeFileSync(script, TRAIN);
  writeFileSync(config, CONFIG);
  for (const name of ["good", "bad"]) {
    const env = { ...process.env, GRAPHDBG_ENABLE: "1", GRAPHDBG_RECORD: runs, GRAPHDBG_JOB: name, GRAPHDBG_CONFIG: config };
    execFileSync(python, [script, name], { env, stdio: "ignore" });
  }
  return runs;
}

const slider = (page: Page) => page.getByRole("slider", { name: "Step" });
const atStep = (page: Page, step: number) =>
  expect(slider(page)).toHaveAttribute("aria-valuetext", `step ${step} of 12`);

async function open(page: Page, query: string): Promise<void> {
  await page.evaluate((hash) => (window.location.hash = hash), `#/runs/bad?${query}`);
}

test("a recorded run is searched, stepped back through, and compared with another", async ({ page, server }) => {
  const runs = record(mkdtempSync(join(tmpdir(), "graphdbg-recorded-")));
  await page.goto(await server.start("--runs", runs));
  const table = page.getByRole("table", { name: "Recorded runs" });
  await expect(table.getByRole("row", { name: /good/ })).toBeVisible();
  await table.getByRole("link", { name: "bad" }).click();

  await atStep(page, 12);
  await slider(page).focus();
  await page.keyboard.press("ArrowLeft");
  await atStep(page, 11);
  await expect(page).toHaveURL(/step=11/);
  await page.screenshot({ path: screenshot("recorded-run-1-step") });

  // Values of a weight, beside those of an earlier step.
  await open(page, "node=forward/hidden/weight&step=8&panel=compare&with=step:4");
  await expect(page.getByLabel("Comparison").getByText(/not close/)).toBeVisible();

  // The comparison is in the address, so a reload keeps it.
  await page.getByLabel("Compare with the run").selectOption("good");
  const first = page.getByRole("list", { name: "First difference" }).getByRole("button");
  await expect(first).toContainText("step 6");
  await page.reload();
  await first.click();
  await atStep(page, 6);
  await page.screenshot({ path: screenshot("recorded-run-2-difference") });

  // Where a condition would have matched.
  await page.getByRole("button", { name: "Check a condition" }).first().click();
  const form = page.getByRole("form", { name: "New check" });
  await form.getByLabel("When").selectOption("inf");
  await form.getByLabel("On", { exact: true }).selectOption("everything");
  await form.getByRole("button", { name: "Check" }).click();
  await page.getByRole("button", { name: /step 8/ }).first().click();
  await atStep(page, 8);
  await page.screenshot({ path: screenshot("recorded-run-3-check") });
});
