import { defineConfig } from 'orval';

export default defineConfig({
  service: { input: 'openapi.json', output: { target: 'generated/orval.ts', client: 'fetch', headers: true } },
});
