import type { ContractCase } from './contract-case.js';
import { expectError, send } from './contract-call.js';
import type { ExpectedError } from './contract-call.js';
import { REFUSALS } from './contract-refusals.js';
import type { ErrorSituation } from './contract-situation.js';
import { readSpecificationRows } from './contract-specification.js';
import { UPSTREAM_ERRORS } from './contract-upstream-errors.js';

const ROWS = new Set(readSpecificationRows());

/** Rows that apply to every error response, so every error case covers them. */
const WITH_EVERY_ERROR = [
  'error object: error.message',
  'error object: error.type',
  'error object: error.code',
  'error object: error.param',
  'error object: error.request_id',
  'errors: sentence 1 on chat completions style',
  'errors: sentence 2 on /v1/messages and /v1/messages/count_tokens',
];

/** Rows about a code that do not begin with its status. */
const OTHER_ROWS: Readonly<Record<string, readonly string[]>> = {
  upstream_error: ['errors: 5xx upstream_error'],
  upstream_auth_error: ['authentication: rule 6 401 or 403 with'],
  rate_limit_exceeded: ['limits: Upstream provider limit'],
};

/** Every error code in both protocols, for plain and streaming requests. */
export const ERROR_CASES: readonly ContractCase[] = [...REFUSALS, ...UPSTREAM_ERRORS].map((situation) => ({
  title: titleOf(situation),
  covers: rowsOf(situation.expected),
  async run(world) {
    const call = await situation.arrange(world);
    for (const style of ['chat', 'messages'] as const) {
      const plain = call(style);
      const streamed = { ...plain, body: typeof plain.body === 'object' ? { ...plain.body, stream: true } : undefined };
      for (const one of plain.body === undefined ? [plain] : [plain, streamed]) {
        expectError(await send(world.url, one), style, situation.expected);
      }
    }
  },
}));

/** Errors that the methods of a client cannot cause. */
const NOT_SENT: ReadonlySet<string> = new Set([
  'missing_api_key',
  'unsupported_endpoint',
  'request_entity_too_large',
  'invalid_request',
]);

/**
 * One refusal of the gateway and one provider error for each status, for clients that map statuses
 * to classes.
 */
export const ONE_OF_EACH_STATUS: readonly ErrorSituation[] = [
  ...firstOfEachStatus(REFUSALS.filter(({ expected }) => !NOT_SENT.has(expected.code))),
  ...firstOfEachStatus(UPSTREAM_ERRORS),
];

function firstOfEachStatus(situations: readonly ErrorSituation[]): ErrorSituation[] {
  const statusOf = ({ expected }: ErrorSituation): number => expected.status;
  return situations.filter(
    (situation, index) => situations.findIndex((other) => statusOf(other) === statusOf(situation)) === index,
  );
}

export function titleOf({ expected: { status, code }, what }: ErrorSituation): string {
  return `${status} ${code}${what === undefined ? '' : ` (${what})`}`;
}

/**
 * Returns the IDs of the specification's rows that a test of this code covers: in the tables of
 * errors, of failure codes, and of retry advice, and the row of the error body.
 */
function rowsOf({ status, code, retryAfter }: ExpectedError): string[] {
  const listed = [`errors: ${status} ${code}`, `authentication: ${status} ${code}`].filter((row) => ROWS.has(row));
  if (listed.some((row) => row.startsWith('authentication'))) listed.push('authentication: rule 5 failure codes');
  listed.push(...(OTHER_ROWS[code] ?? []));
  const retries = [...ROWS].filter((row) => row.startsWith('errors: ') && row.endsWith(`: ${code}`));
  const never = [...ROWS].filter((row) => row === `errors: No: ${status}` || row === `errors: No: All ${status}`);
  const sentences = retryAfter === undefined ? [] : ['errors: sentence 3 retry after seconds is'];
  return [...listed, ...retries, ...never, ...sentences, ...WITH_EVERY_ERROR];
}
