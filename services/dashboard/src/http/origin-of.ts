import { AGENT_CHARS_MAX, type RequestOrigin } from '@gateway/contracts/messages';
import type { Request, Response } from 'express';
import { placeOf } from './request-place.js';

/** Where a request comes from, as the audit log has it. */
export function originOf(request: Request, response: Response): RequestOrigin {
  return {
    client: placeOf(request).client,
    agent: request.get('user-agent')?.slice(0, AGENT_CHARS_MAX) || null,
    requestId: response.locals['requestId'] as string,
  };
}
