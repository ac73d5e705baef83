import { describe, expect, test } from '@jest/globals';
import { PROVIDER_ERRORS, UPSTREAM_MODEL, type ProviderErrorCase } from '../../test/provider-errors.js';
import { CLASS_RULES } from './class-rules.js';
import { classifyError, type ErrorClass } from './error-class.js';
import { readErrorBody } from './reported-error.js';

const bytesOf = (body: unknown): Buffer => Buffer.from(typeof body === 'string' ? body : JSON.stringify(body));

function classOf({ status, body, errorType }: Pick<ProviderErrorCase, 'status' | 'body' | 'errorType'>) {
  return classifyError({ status, reported: readErrorBody(bytesOf(body)), errorType, upstreamModel: UPSTREAM_MODEL });
}

test.each(PROVIDER_ERRORS.map((each) => [each.provider, each] as const))('%s', (_name, each) => {
  const { class: found, certain } = classOf(each);
  expect(found).toBe(each.class);
  if (CLASS_RULES[found].cooldown === 'refused') expect(certain).toBe(each.certain === true);
});

test('at least twelve providers are included, each with its source', () => {
  expect(new Set(PROVIDER_ERRORS.map(({ provider }) => provider.split(',')[0])).size).toBeGreaterThanOrEqual(12);
  for (const { from } of PROVIDER_ERRORS) expect(from).toMatch(/\w\.\w/);
});

test.each<[number, ErrorClass]>([
  [302, 'foreign'],
  [204, 'foreign'],
  [600, 'foreign'],
  [400, 'body'],
  [401, 'credential'],
  [402, 'funds'],
  [403, 'forbidden'],
  [404, 'not_found'],
  [405, 'unexpected'],
  [408, 'late'],
  [409, 'unexpected'],
  [410, 'unexpected'],
  [413, 'body'],
  [422, 'body'],
  [425, 'late'],
  [429, 'quota'],
  [451, 'unexpected'],
  [500, 'overload'],
  [529, 'overload'],
])('a %i without code or text is %s', (status, expected) => {
  expect(classOf({ status, body: '' }).class).toBe(expected);
});

test('an error without status, code and text counts as a failure', () => {
  expect(classOf({ status: null, body: { error: { message: 'no' } } }).class).toBe('overload');
  expect(classOf({ status: null, body: '' }).class).toBe('overload');
});

describe("content of a client's request", () => {
  /** Quotes a text as a provider would. */
  const quoted = (text: string) => ({
    error: { message: `messages.0.content: Invalid value: '${text}'`, type: 'invalid_request_error' },
  });
  test.each([
    'API key not valid',
    'Your credit balance is too low',
    'insufficient balance',
    'the model model-x does not exist',
    'cannot make a 400 look like a fault of our account: %s',
  ])('cannot make a 400 look like a fault of ours: %s', (text) => {
    expect(classOf({ status: 400, body: quoted(text) }).class).toBe('body');
  });

  test("makes a 403 or 404 certain only if it names the source's model", () => {
    for (const status of [403, 404]) {
      for (const text of ['API key not valid', 'Your credit balance is too low', 'the model gpt does not exist']) {
        expect(classOf({ status, body: quoted(text) }).certain).toBe(false);
      }
    }
  });
});

test("a model's name must be a whole word", () => {
  const of = (message: string) =>
    classOf({ status: 404, body: { error: { message, code: 'model_not_found' } } }).certain;
  for (const text of [
    'The model `model-x` does not exist',
    'model: model-x',
    'models/model-x is not found',
    "no 'model-x'.",
  ]) {
    expect(of(text)).toBe(true);
  }
  for (const text of ['The model `model-x-mini` is unknown', 'my-model-x', 'model-x.5', 'something else']) {
    expect(of(text)).toBe(false);
  }
});

test.each([
  ['a missing deployment', 'The API deployment for this resource does not exist.', true],
  ['a text only about the model', 'The model does not exist.', true],
  ['the name of another model', 'The model other-model does not exist.', false],
])('a profile rule for the class model: %s', (_name, message, certain) => {
  const code = certain && message.includes('deployment') ? 'DeploymentNotFound' : 'not_found';
  const reported = readErrorBody(bytesOf({ error: { message, code } }));
  const rules = [{ status: 404, code: null, text: null, class: 'model' as const }];
  const found = classifyError({ status: 404, reported, errorType: undefined, upstreamModel: UPSTREAM_MODEL, rules });
  expect(found).toEqual({ class: 'model', certain, status: 404 });
});

test('errors that a client can cause neither cool down a source nor open a breaker', () => {
  for (const name of ['body', 'content', 'item', 'unexpected'] as const) {
    expect(CLASS_RULES[name]).toMatchObject({ cooldown: 'none', countsAsFailure: false });
  }
  for (const name of ['forbidden', 'not_found'] as const) {
    expect(
      classifyError({
        status: name === 'forbidden' ? 403 : 404,
        reported: null,
        errorType: undefined,
        upstreamModel: 'm',
      }),
    ).toEqual({
      class: name,
      certain: false,
      status: name === 'forbidden' ? 403 : 404,
    });
  }
});
