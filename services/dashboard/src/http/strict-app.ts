import { makeUuidV7 } from '@gateway/contracts/ids';
import type { Clock } from '@gateway/service-kit';
import express, { type Express, type NextFunction, type Request, type Response } from 'express';
import { REQUEST_ID_HEADER } from './refusals.js';

/**
 * An Express application that adds nothing of its own and takes paths as they are written. Each
 * request has an id, in `response.locals.requestId` and as a header of its answer.
 */
export function createStrictApp(clock: Clock): Express {
  const app = express();
  app.disable('x-powered-by');
  app.disable('etag');
  app.enable('case sensitive routing');
  app.enable('strict routing');
  app.set('query parser', 'simple');
  app.set('trust proxy', false);
  app.use((_request: Request, response: Response, next: NextFunction) => {
    const requestId = makeUuidV7(clock.nowMs());
    response.locals['requestId'] = requestId;
    response.setHeader(REQUEST_ID_HEADER, requestId);
    next();
  });
  return app;
}

/** `{name}` as Express writes it. */
export function expressPath(path: string): string {
  return path.replace(/\{(\w+)\}/g, ':$1');
}

/** Express's fault for a path whose escapes cannot be decoded. */
export function isUnreadablePath(error: unknown): boolean {
  return typeof error === 'object' && error !== null && 'status' in error && error.status === 400;
}
