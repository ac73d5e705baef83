import { type Bus, requestServer } from '@gateway/bus';
import { billingWallet } from '@gateway/contracts/messages';
import { faultOf } from '@gateway/postgres';
import { expect, test } from '@jest/globals';

/** Returns the error code of a handler that fails with this error. */
async function codeFor(error: unknown): Promise<string | undefined> {
  let answered: Promise<unknown> = Promise.resolve();
  const bus = {
    service: 'billing',
    serve: (_message: unknown, handle: (body: unknown) => Promise<unknown>) => {
      answered = handle({});
    },
  } as unknown as Bus;
  requestServer(bus, { faultOf })(billingWallet, () => Promise.reject(error));
  return answered.then(
    () => undefined,
    (fault: { readonly code?: string }) => fault.code,
  );
}

test.each([
  ['a character that cannot be stored', { code: '22021' }, 'invalid_value'],
  ['a number out of range', { code: '22003' }, 'invalid_value'],
  ['a server that starts', { code: '57P03' }, 'dependency_unavailable'],
  ['no connection', { code: 'ECONNREFUSED' }, 'dependency_unavailable'],
])('a handler reports the error code of %s', async (_, error, code) => expect(await codeFor(error)).toBe(code));

test('a handler with any other error has no error code', async () => {
  expect(await codeFor(new TypeError('a mistake'))).toBeUndefined();
});
