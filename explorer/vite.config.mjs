/** Builds the explorer into dist/explorer: index.html, and files with hashed names beside it. */
import { defineConfig } from 'vite';

export default defineConfig({
  // Where server/api/explorer.ts serves the assets.
  base: '/explorer/',
  publicDir: false,
  logLevel: 'warn',
  oxc: { jsx: { runtime: 'automatic', importSource: 'preact' } },
  build: {
    outDir: '../dist/explorer',
    emptyOutDir: true,
    assetsDir: '.',
    // The policy of the page allows no data: URLs and no inline scripts.
    assetsInlineLimit: 0,
    // Vite does not load a part's styles again after a failure.
    cssCodeSplit: false,
    modulePreload: { polyfill: false },
    target: 'es2022',
    chunkSizeWarningLimit: 1024,
    // On a busy machine, `npm start` would begin with advice for authors of plugins.
    rolldownOptions: { checks: { bundlerTimings: false } },
  },
});
