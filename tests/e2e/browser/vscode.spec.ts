// The extension in VS Code's own workbench, with the real adapter, server and training job.
import { expect, type Page, test as base } from "@playwright/test";
import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { dirname, join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { host } from "./debug_server.ts";
import { screenshot } from "./debugged_job.ts";

const here = dirname(fileURLToPath(import.meta.url));
const workbench = join(here, "../vscode");
const program = process.env.GRAPHDBG_PROGRAM ?? join(here, "../../../.venv/bin/graphdbg");

// The job imports PyTorch, and trains 80 steps.
const STOP = { timeout: 200_000 };

const test = base.extend<{ editor: Page }>({
  editor: async ({ page }, use) => {
    const server = spawn(process.execPath, [join(workbench, "serve.mjs"), program, host("digits_cnn.py")], {
      stdio: ["ignore", "pipe", "inherit"],
    });
    const [address] = (await once(createInterface({ input: server.stdout! }), "line")) as [string];
    await page.goto(address);
    await expect(page.locator("body[data-state=ready]")).toBeAttached({ timeout: 60_000 });
    await page.locator(".monaco-editor .view-lines").first().click();
    await use(page);
    // The adapter ends with its connection.
    await page.close();
    server.kill();
    await once(server, "exit");
  },
});

test.setTimeout(300_000);

test.beforeAll(() => {
  execFileSync("npm", ["run", "--silent", "build"], { cwd: workbench, stdio: "inherit" });
});

// The editor writes spaces as U+00A0, which a pattern's \s matches.
const line = (page: Page, text: string) => page.locator(".view-line", { hasText: text }).first();
const row = (page: Page, name: string | RegExp) => page.getByRole("treeitem", { name });
const status = (page: Page) => page.locator(".statusbar-item", { hasText: "graphdbg:" });

/** F5 without launch.json, until the job stops at its first infinity. */
async function debugFile(page: Page): Promise<void> {
  await page.keyboard.press("F5");
  await expect(page.locator(".exception-widget")).toContainText("Logarithm of a softmax that is zero", STOP);
}

/** F9 in a line of the model and F5, until the job stops there. */
async function stopInFirstStep(page: Page): Promise<void> {
  await page.keyboard.press("Control+g");
  await page.keyboard.type("26");
  await page.keyboard.press("Enter");
  await page.keyboard.press("F9");
  await page.keyboard.press("F5");
  await expect(status(page)).toContainText("step 1", STOP);
}

test("F5 trains the current file until its first infinity", async ({ editor }) => {
  await debugFile(editor);
  // Which step it is depends on the processor, whose kernels round in their own ways.
  await expect(status(editor)).toContainText(/step \d+/);
  await expect(line(editor, "torch.log(")).toContainText(/log:\smin.*\d\sInf/);
  await expect(line(editor, "torch.softmax(")).toContainText(/_softmax:\smin\s0,\smax\s1/);

  await editor.keyboard.press("Control+Shift+D");
  await expect(row(editor, "Scope Inputs")).toBeVisible();
  await row(editor, "Scope Outputs").click();
  await expect(row(editor, /^out0/)).toContainText("NaN");
  await line(editor, "torch.log(").click();
  await editor.keyboard.press("Escape");
  await expect(editor.locator(".exception-widget")).toBeHidden();
  await editor.screenshot({ path: screenshot("vscode-stopped") });
});

test("a breakpoint on a line stops in the first step, after the first op of the line", async ({ editor }) => {
  await stopInFirstStep(editor);
  await expect(line(editor, "self.fc1(")).toContainText(/:\smin/);
  await expect(line(editor, "self.fc2(x)")).not.toContainText(/:\smin/);

  await editor.keyboard.press("F11");
  await expect(line(editor, "self.fc1(")).toContainText(/\st:\smin/, STOP);

  await line(editor, "self.conv2(x)").getByText("conv2").hover();
  await expect(editor.locator(".debug-hover-widget")).toContainText("float32[64, 32, 8, 8]");
});

test("F10 runs past the rest of the line and the layers that it calls", async ({ editor }) => {
  await stopInFirstStep(editor);
  await editor.keyboard.press("F10");
  // The last line of the model only calls a layer.
  await expect(status(editor)).toContainText("after forward/fc2/t, step 1", STOP);
  await expect(line(editor, "self.fc2(x)")).toContainText(/t:\smin/);
  await editor.keyboard.press("F10");
  await expect(status(editor)).toContainText("after forward/index, step 1", STOP);
  await expect(line(editor, "loss = cross_entropy(")).toContainText(/index:\smin/);
  await expect(editor.getByText("NaN or infinity", { exact: true })).toHaveCount(1);
});

// The page may be framed by VS Code's own scheme, which no browser has; here it is the workbench's address.
async function frameInBrowser(page: Page): Promise<void> {
  const { origin } = new URL(page.url());
  await page.route(/\/\?embed=/, async (route) => {
    const response = await route.fetch();
    const policy = response.headers()["content-security-policy"] ?? "";
    expect(policy).toContain("frame-ancestors vscode-webview:");
    const headers = { ...response.headers(), "content-security-policy": policy.replace("vscode-webview:", origin) };
    await route.fulfill({ response, headers });
  });
}

test("Show Graph opens the page, where a click on a node opens its source", async ({ editor }) => {
  await frameInBrowser(editor);
  await stopInFirstStep(editor);
  await editor.getByRole("button", { name: "Show Graph" }).first().click();
  const outer = editor.frameLocator("iframe.webview").frameLocator("iframe");
  const node = outer.frameLocator("iframe[title=Graph]").getByRole("treeitem", { name: "relu", exact: true });
  await node.click({ timeout: 30_000 });
  await expect(editor.locator(".active-line-number").first()).toHaveText("24");
  await editor.screenshot({ path: screenshot("vscode-graph") });

  // The frame keeps what its one-time code was exchanged for.
  const graph = editor.frames().find((each) => each.name() === "" && each.url().includes("/jobs/"))!;
  await graph.evaluate(() => location.reload());
  await expect(node).toBeVisible({ timeout: 30_000 });
});
