import { createRequire } from 'node:module';
import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';
import express, { type RequestHandler, type Response, Router } from 'express';

export const DOCS_ASSETS_PATH = '/docs/assets';

/** Files of the installed package of Swagger UI: nothing is loaded from elsewhere. */
const SWAGGER_UI = ['/swagger-ui.css', '/swagger-ui-bundle.js'];

const OPTIONS = {
  index: false,
  redirect: false,
  setHeaders: (response: Response) => response.setHeader('Cache-Control', 'public, max-age=3600'),
};

/** The files that the pages of the documentation need. */
export function docsAssets(): RequestHandler {
  const { resolve } = createRequire(import.meta.url);
  return Router()
    .get(SWAGGER_UI, express.static(dirname(resolve('swagger-ui-dist/swagger-ui.css')), OPTIONS))
    .use(express.static(fileURLToPath(new URL('assets', import.meta.url)), OPTIONS));
}
