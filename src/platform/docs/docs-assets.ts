import { createRequire } from 'node:module';
import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';
import express, { type RequestHandler, type Response, Router } from 'express';

export const DOCS_ASSETS_PATH = '/docs/assets';

/** Served from the installed package, so that pages load nothing from other hosts. */
const SWAGGER_UI = ['/swagger-ui.css', '/swagger-ui-bundle.js'];

const OPTIONS = {
  index: false,
  redirect: false,
  setHeaders: (response: Response) => response.setHeader('Cache-Control', 'public, max-age=3600'),
};

/** Serves the scripts and styles of the documentation pages. */
export function docsAssets(): RequestHandler {
  const { resolve } = createRequire(import.meta.url);
  return Router()
    .get(SWAGGER_UI, express.static(dirname(resolve('swagger-ui-dist/swagger-ui.css')), OPTIONS))
    .use(express.static(fileURLToPath(new URL('assets', import.meta.url)), OPTIONS));
}
