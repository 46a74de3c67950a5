import type { NextFunction, Request, Response } from 'express';

/** Whether a text is percent-encoded UTF-8 (RFC 3986, section 2.1), as far as it is encoded at all. */
export function isDecodable(text: string): boolean {
  if (!text.includes('%')) {
    return true;
  }
  try {
    decodeURIComponent(text);
    return true;
  } catch {
    return false;
  }
}

/** Middleware: Express refuses a path that it cannot decode before the guards run. With its percent signs encoded it is not found, behind them. */
export function encodePercentSigns(request: Request, _response: Response, next: NextFunction): void {
  const [path = ''] = request.url.split('?', 1);
  if (!isDecodable(path)) {
    request.url = path.replaceAll('%', '%25') + request.url.slice(path.length);
  }
  next();
}
