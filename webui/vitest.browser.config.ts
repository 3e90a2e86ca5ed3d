import { defineConfig } from 'vitest/config';

// One after the other: each test starts a server and a browser of its own.
export default defineConfig({
  test: {
    environment: 'node',
    include: ['browser/*.test.ts'],
    fileParallelism: false,
    // As ATTEMPTS in tools/dev.
    retry: process.env.CI ? 1 : 0,
    testTimeout: 60_000,
    hookTimeout: 60_000,
  },
});
