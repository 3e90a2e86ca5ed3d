// The page in a frame of another site, as a view of an editor shows it.
import { expect, type Page } from "@playwright/test";
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { host, test } from "./debug_server.ts";

/** A server whose page shows in a frame what its address names. Chromium does not know vscode-webview:. */
async function startEditor(): Promise<{ origin: string; stop: () => void }> {
  const server = createServer((request, response) => {
    const address = new URL(request.url ?? "", "http://localhost").searchParams.get("show") ?? "about:blank";
    response.setHeader("Content-Type", "text/html");
    response.end(`<!doctype html><iframe src="${address}" width="1200" height="700"></iframe>`);
  });
  server.listen(0, "localhost");
  await once(server, "listening");
  return { origin: `http://localhost:${(server.address() as AddressInfo).port}`, stop: () => server.close() };
}

const open = (page: Page, editor: string, address: string) => page.goto(`${editor}/?show=${encodeURIComponent(address)}`);

test("a page of another site that is allowed to shows the page in a frame", async ({ page, server }) => {
  const editor = await startEditor();
  await server.start("--frame-ancestors", editor.origin);
  server.job("digits", [host("digits_cnn.py")]);
  await open(page, editor.origin, await server.url("--embed"));
  const frame = page.frameLocator("iframe");
  await frame.getByRole("link", { name: "digits_cnn.py" }).click({ timeout: 60_000 });
  const state = frame.getByRole("status", { name: "Job state" });
  await expect(state).toHaveText(/paused/i, { timeout: 60_000 });

  // The one-time code is gone; what it was exchanged for is not, although the browser gives the frame no storage.
  await page.frames()[1]!.evaluate(() => location.reload());
  await expect(state).toHaveText(/paused/i, { timeout: 60_000 });
  editor.stop();
});

test("an address for views of an editor is shown by no other page", async ({ page, server }) => {
  const editor = await startEditor();
  await server.start();
  const address = await server.url("--embed");
  const policy = (await page.request.get(address)).headers()["content-security-policy"];
  expect(policy).toMatch(/frame-ancestors vscode-webview: vscode-file:$/);
  const refused = page.waitForEvent("console", (message) => message.text().includes("frame-ancestors"));
  await open(page, editor.origin, address);
  await refused;
  await expect(page.frameLocator("iframe").getByRole("heading", { name: "graphdbg" })).toBeHidden();
  editor.stop();
});
