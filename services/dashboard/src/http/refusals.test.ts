import { BusFault } from '@gateway/bus';
import { expect, jest, test } from '@jest/globals';
import type { Logger } from '@gateway/service-kit';
import { toRefusal } from './refusals.js';

const quiet = { warn: jest.fn(), error: jest.fn() } as unknown as Logger;

test.each([
  ['a value that a database cannot store', new BusFault('invalid_value', 'column name'), 'invalid_request'],
  ['a message that is too large', new BusFault('too_large', '1,000,001 bytes'), 'invalid_request'],
  ['a message of ours that a service refuses', new BusFault('invalid_message', 'from: too small'), 'internal_error'],
  ['a handler that failed', new BusFault('fault', 'billing.ledger: the handler failed'), 'internal_error'],
  ['an error of our own', new TypeError('x is undefined'), 'internal_error'],
  ['a service that does not answer', new BusFault('timeout', 'after 5 s'), 'dependency_unavailable'],
  ['nobody who serves', new BusFault('no_responders', 'billing.ledger'), 'dependency_unavailable'],
  ['a database that is away', new BusFault('dependency_unavailable', 'of billing'), 'dependency_unavailable'],
])('maps %s', (_, fault, code) => {
  const { refused } = toRefusal(quiet, fault, 'request-1');
  expect(refused.code).toBe(code);
  expect(refused.message).not.toContain(fault.message);
});
