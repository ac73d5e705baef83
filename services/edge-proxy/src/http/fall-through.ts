import express, { type Request, type Response } from 'express';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { EndpointStyle } from '../domain/endpoints.js';
import type { ClientRequest } from '../ports.js';

type Answer = (request: ClientRequest, style: EndpointStyle) => void;

/**
 * Express serves what the table of routes does not know. It has no routes: every path is an
 * unsupported endpoint, also one that Express itself cannot read. Management routes would be
 * mounted here.
 */
export function makeFallThrough(
  answer: Answer,
): (incoming: IncomingMessage, response: ServerResponse, request: ClientRequest, style: EndpointStyle) => void {
  const app = express();
  app.disable('x-powered-by');
  app.disable('etag');
  return (incoming, response, request, style) => {
    app(incoming as Request, response as Response, () => answer(request, style));
  };
}
