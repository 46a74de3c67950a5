import { hash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { extname } from 'node:path';
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import { NotFoundException } from '@nestjs/common';
import type { Request, Response } from 'express';

export const DOCS_ASSETS_PATH = '/docs/assets/:name';

/** Swagger UI comes from the installed package, so that pages load nothing from other hosts. */
const NAMES = ['console.css', 'console.js', 'icon.svg', 'landing.js', 'pages.css', 'swagger-ui.css', 'swagger-ui-bundle.js'];

/** Express' `acceptsEncodings` would take 2 ms for a header of 16 KiB, of clients that need no token. */
const TAKES_GZIP = /\bgzip\b(?!\s*;\s*q=0(?:\.0*)?\s*(?:,|$))/i;

const { resolve } = createRequire(import.meta.url);
const compress = promisify(gzip);

/** Serves scripts and styles of the pages from memory: `express.static` leaks file descriptors when clients disconnect. */
export function docsAssets() {
  const assets = new Map(NAMES.map((name) => [name, readAsset(name)]));
  return async (request: Request<{ name: string }>, response: Response): Promise<void> => {
    const { name } = request.params;
    const asset = assets.get(name);
    if (!asset) {
      throw new NotFoundException('This file does not exist.');
    }
    const { content, digest } = asset;
    response.type(extname(name)).set('Cache-Control', 'public, max-age=3600').vary('Accept-Encoding');
    if (TAKES_GZIP.test(request.get('Accept-Encoding') ?? '')) {
      asset.compressed ??= compress(content);
      response.set({ 'Content-Encoding': 'gzip', ETag: `"${digest}-gzip"` }).send(await asset.compressed);
    } else {
      response.set('ETag', `"${digest}"`).send(content);
    }
  };
}

function readAsset(name: string) {
  const content = readFileSync(
    name.startsWith('swagger-ui') ? resolve(`swagger-ui-dist/${name}`) : new URL(`assets/${name}`, import.meta.url),
  );
  return { content, digest: hash('sha256', content, 'base64url'), compressed: undefined as Promise<Buffer> | undefined };
}
