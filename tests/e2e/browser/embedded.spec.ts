// The page in a frame of another origin, as a view of an editor shows it.
import { expect, type Page } from "@playwright/test";
import { host, test } from "./debug_server.ts";

// Another site than 127.0.0.1. Chromium does not know vscode-webview:, so this origin takes its place.
const EDITOR = "http://localhost:1";
const EDITORS = "vscode-webview: vscode-file:";

/** Opens a page of the editor that shows an address in a frame. */
async function openEditor(page: Page, address: string): Promise<void> {
  const body = `<!doctype html><iframe src="${address}" width="1200" height="700"></iframe>`;
  await page.route(`${EDITOR}/**`, (route) => route.fulfill({ contentType: "text/html", body }));
  await page.goto(`${EDITOR}/`);
}

/** Lets the editor be one of those that the server names. */
async function nameEditor(page: Page): Promise<void> {
  await page.route(/\/\?embed=/, async (route) => {
    const response = await route.fetch();
    const policy = response.headers()["content-security-policy"] ?? "";
    expect(policy).toContain(`frame-ancestors ${EDITORS}`);
    const headers = { ...response.headers(), "content-security-policy": policy.replace(EDITORS, EDITOR) };
    await route.fulfill({ response, headers });
  });
}

const heading = (page: Page) => page.frameLocator("iframe").getByRole("heading", { name: "Jobs" });

test("an editor shows the page in a frame, and can load it again", async ({ page, server }) => {
  await server.start();
  server.job("digits", [host("digits_cnn.py")]);
  await nameEditor(page);
  await openEditor(page, await server.url("--embed"));
  await expect(heading(page)).toBeVisible();
  const frame = page.frameLocator("iframe");
  await frame.getByRole("link", { name: "digits_cnn.py" }).click({ timeout: 60_000 });
  await expect(frame.getByRole("status", { name: "Job state" })).toHaveText(/paused/i, { timeout: 60_000 });
  const shown = page.frames()[1]!;
  await shown.evaluate(() => location.reload());
  await expect(frame.getByRole("status", { name: "Job state" })).toHaveText(/paused/i, { timeout: 60_000 });
});

test("no other page shows it", async ({ page, server }) => {
  await server.start();
  for (const [address, reason] of [
    [await server.url("--embed"), /frame-ancestors/],
    [await server.url(), /403/],
  ] as const) {
    const refused = page.waitForEvent("console", (message) => reason.test(message.text()));
    await openEditor(page, address);
    await refused;
    await expect(heading(page)).toBeHidden();
  }
});
