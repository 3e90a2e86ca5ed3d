// Adds the guide to the build, and shows it in `npm run dev`.

import { extname } from 'node:path';
import type { Plugin } from 'vite';
import { renderGuide } from './render.ts';

const TYPES: Record<string, string> = { '.html': 'text/html', '.css': 'text/css', '.png': 'image/png' };

export function guide(): Plugin {
  return {
    name: 'guide',
    generateBundle(_, bundle) {
      const fonts = Object.keys(bundle).filter((file) => file.endsWith('.woff2'));
      const fontUrl = (name: string) => {
        const found = fonts.find((file) => file.includes(name.replace('.woff2', '')));
        return found === undefined ? null : `/${found}`;
      };
      for (const { name, source } of renderGuide(fontUrl)) {
        this.emitFile({ type: 'asset', fileName: `guide/${name}`, source });
      }
    },
    configureServer({ middlewares }) {
      middlewares.use('/guide/', (request, response, next) => {
        const path = (request.url ?? '').replace(/^\//, '').replace(/[?#].*$/, '');
        const file = renderGuide(() => null).find(({ name }) => name === path);
        if (file === undefined) return next();
        response.setHeader('Content-Type', TYPES[extname(path)] ?? 'application/octet-stream');
        response.end(file.source);
      });
    },
  };
}
