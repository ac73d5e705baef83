import { expect } from '@jest/globals';
import type { RawAnswer } from './raw-http.js';

/** Checks a raw refusal: status, IDs, envelope, and no forbidden headers. */
export function expectRefusal(
  what: string,
  answer: RawAnswer,
  status: number,
  code: string,
  isMessages: boolean,
  isBodyless: boolean,
): void {
  const { headers } = answer;
  expect([what, answer.status]).toEqual([what, status]);
  expect([what, headers['x-gateway-request-id']]).toEqual([what, expect.stringMatching(/^[0-9a-f-]{36}$/)]);
  expect(headers['x-request-id']).toBe(headers['x-gateway-request-id']);
  expect(answer.text).not.toMatch(/^(access-control-|allow:|x-powered-by|etag)/im);
  if (isBodyless) return expect([what, answer.body]).toEqual([what, '']);
  const body = JSON.parse(answer.body) as { type?: string; request_id?: string; error: Record<string, unknown> };
  expect([what, body.error['code'], body.type]).toEqual([what, code, isMessages ? 'error' : undefined]);
  const inside = code === 'unsupported_endpoint' ? undefined : headers['x-gateway-request-id'];
  if (isMessages) expect(body.request_id).toBe(headers['x-gateway-request-id']);
  else expect([what, body.error['request_id']]).toEqual([what, inside]);
}
