import react from '@vitejs/plugin-react';
import { defineConfig } from 'vitest/config';

// The server that `npm run dev` forwards API calls to.
const backend = process.env['GRAPHDBG_HTTP'] ?? 'http://127.0.0.1:8090';

// Tests of code that knows no document.
const PURE_TESTS = [
  'src/base/*.test.ts',
  'src/graph/*.test.ts',
  'src/index/*.test.ts',
  'src/state/{job,controls,route}.test.ts',
  'src/widgets/{grid_data,heat_pixels,heat_view,scroll_space,tree_rows}.test.ts',
];

export default defineConfig({
  plugins: [react()],
  build: {
    target: 'es2022',
    // The page's content policy forbids data: addresses.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
  },
  worker: { format: 'es' },
  server: { proxy: { '/api': { target: backend, ws: true } } },
  test: {
    projects: [
      {
        extends: true,
        test: { name: 'pure', environment: 'node', include: PURE_TESTS },
      },
      {
        extends: true,
        test: {
          name: 'dom',
          environment: 'jsdom',
          setupFiles: ['src/testing/setup.ts'],
          include: ['src/**/*.test.{ts,tsx}'],
          exclude: PURE_TESTS,
          css: false,
        },
      },
    ],
  },
});
