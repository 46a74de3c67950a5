import { defineConfig } from 'orval';

export default defineConfig({
  items: { input: 'openapi.json', output: { target: 'generated/orval.ts', client: 'fetch', headers: true } },
});
