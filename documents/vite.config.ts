/** Builds the documents into dist/documents: a page of each, and files with hashed names beside them. */
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vite';
import { documentPages } from './pages.js';

const root = path.resolve(path.dirname(fileURLToPath(import.meta.url)), '..');

export default defineConfig({
  root: path.join(root, 'documents'),
  // Where server/api/docs.ts serves the files.
  base: '/docs/',
  publicDir: false,
  logLevel: 'warn',
  plugins: [documentPages(root)],
  build: {
    outDir: '../dist/documents',
    emptyOutDir: true,
    assetsDir: '.',
    // The policy of the pages allows no data: URLs and no inline scripts.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    target: 'es2022',
    rolldownOptions: {
      input: Object.fromEntries(
        ['theme.ts', 'page.ts', 'reference.mjs'].map((name) => [
          path.parse(name).name,
          path.join(root, `documents/browser/${name}`),
        ]),
      ),
      output: { entryFileNames: '[name]-[hash].js', chunkFileNames: '[name]-[hash].js' },
      // On a busy machine, `npm start` would begin with advice for authors of plugins.
      checks: { bundlerTimings: false },
    },
  },
});
