import react from '@vitejs/plugin-react';
import type { Plugin } from 'vite';
import { defineConfig } from 'vitest/config';
import { guide } from './guide/plugin.ts';

// The server to which `npm run dev` forwards API requests.
const backend = process.env['GRAPHDBG_HTTP'] ?? 'http://127.0.0.1:8090';

// Tests that need no document.
const PURE_TESTS = [
  'src/base/*.test.ts',
  'src/graph/*.test.ts',
  'src/index/*.test.ts',
  'src/overview/*.test.ts',
  'src/state/{job,controls,overview_data,route}.test.ts',
  'src/widgets/{grid_data,heat_pixels,heat_view,scroll_space,tree_rows}.test.ts',
];

// Makes the browser fetch the page's files while it reads the first script.
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
  plugins: [react(), preloadPage(), guide()],
  build: {
    target: 'es2022',
    // The content security policy forbids data: URLs.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    rolldownOptions: {
      output: {
        // Two scripts for the first view, including their imports: one that requests the graph,
        // and the page. Many small files would load one after the other.
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
  // The server accepts only requests to its own address from its own pages.
  server: { proxy: { '/api': { target: backend, ws: true, changeOrigin: true, headers: { origin: backend } } } },
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
