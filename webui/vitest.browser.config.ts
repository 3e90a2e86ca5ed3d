import { defineConfig } from 'vitest/config';

// One after the other: each test starts a server and a browser of its own.
export default defineConfig({
  test: {
    environment: 'node',
    include: ['browser/*.test.ts'],
    fileParallelism: false,
    testTimeout: 60_000,
    hookTimeout: 60_000,
  },
});
