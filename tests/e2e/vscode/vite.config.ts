import { join } from 'node:path';
import { defineConfig } from 'vite';

const here = (file: string) => join(import.meta.dirname, file);

export default defineConfig({
  build: { target: 'esnext', minify: false, chunkSizeWarningLimit: Infinity },
  define: { process: JSON.stringify({ env: {}, platform: 'linux' }) },
  plugins: [
    {
      name: 'extension-in-a-page',
      enforce: 'pre',
      resolveId(id, importer) {
        if (id.startsWith('node:')) return here('no_node.ts');
        if (!importer?.includes('/tools/vscode/src/')) return null;
        if (id === './adapter') return here('socket_adapter.ts');
        // The package here, not the types beside the extension.
        return id === 'vscode' ? this.resolve(id, here('workbench.ts'), { skipSelf: true }) : null;
      },
    },
  ],
  worker: { format: 'es' },
});
