import react from '@vitejs/plugin-react';
import type { Plugin } from 'vite';
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

// Has the browser fetch the page's files while it still reads the first script.
function preloadPage(): Plugin {
  return {
    name: 'preload-page',
    transformIndexHtml: {
      order: 'post',
      handler: (_, { bundle = {} }) =>
        Object.keys(bundle)
          .filter((file) => /^assets\/(page|rolldown-runtime)-/.test(file))
          .map((file) => ({
            tag: 'link',
            attrs: file.endsWith('.css')
              ? { rel: 'stylesheet', crossorigin: true, href: `/${file}` }
              : { rel: 'modulepreload', crossorigin: true, href: `/${file}` },
            injectTo: 'head' as const,
          })),
    },
  };
}

export default defineConfig({
  plugins: [react(), preloadPage()],
  build: {
    target: 'es2022',
    // The page's content policy forbids data: addresses.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    rolldownOptions: {
      output: {
        // Two files for the first view, with all that they import: what asks for the
        // graph, and the page. Many small ones would each wait for their turn.
        codeSplitting: {
          groups: [
            { name: 'boot', test: /\/src\/boot\.ts$/, priority: 2 },
            { name: 'page', test: /\/src\/main\.tsx$/, priority: 1 },
          ],
        },
      },
    },
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
