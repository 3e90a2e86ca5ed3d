import { defineConfig } from 'vitest/config';

// Sequential, because each file starts its own server and browser.
export default defineConfig({
  test: {
    environment: 'node',
    include: ['browser/*.test.ts'],
    fileParallelism: false,
    // The same as ATTEMPTS in tools/dev.
    retry: process.env.CI ? 1 : 0,
    // Machines that run tests are busy.
    expect: { poll: { timeout: 10_000 } },
    testTimeout: 60_000,
    hookTimeout: 60_000,
  },
});
