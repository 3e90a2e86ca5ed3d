import { defineConfig } from "@playwright/test";

// Runs Debian's Chromium with a real server and a real training job. The flags disable the
// browser's own network requests.
export default defineConfig({
  testDir: ".",
  outputDir: "../../../.build/browser-results",
  timeout: 120_000,
  workers: 1,
  // The same as ATTEMPTS in tools/dev.
  retries: process.env.CI ? 1 : 0,
  reporter: [["list"], ["junit"], ["json"]],
  use: {
    viewport: { width: 1440, height: 900 },
    screenshot: "only-on-failure",
    launchOptions: {
      executablePath: "/usr/bin/chromium",
      args: [
        "--no-sandbox",
        "--disable-gpu",
        "--disable-quic",
        "--no-first-run",
        "--disable-background-networking",
        "--disable-component-update",
        "--disable-sync",
      ],
    },
  },
});
