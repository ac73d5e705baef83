import { makeUuidV7 } from '@gateway/contracts/ids';
import type { Clock } from '@gateway/service-kit';
import express, { type Express, type NextFunction, type Request, type Response } from 'express';
import { REQUEST_ID_HEADER } from './refusals.js';

/**
 * Creates an Express application without default headers. Paths must match in case and trailing
 * slash. Each request has an ID, in `response.locals.requestId` and in a response header.
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

/** Converts `{name}` to Express's syntax. */
export function toExpressPath(path: string): string {
  return path.replace(/\{(\w+)\}/g, ':$1');
}

/** True for Express's error about a path with invalid percent-escapes. */
export function isUnreadablePath(error: unknown): boolean {
  return typeof error === 'object' && error !== null && 'status' in error && error.status === 400;
}
