import type { ProvenElsewhere } from './contract-case.js';

const OPERATOR_API = 'deploy/verify/e2e/src/operator-api.test.ts';
const ROTATION = 'deploy/verify/e2e/src/rotation.system.test.ts';
const KEY_RULE_4 = 'key rule 4: rotation replaces the secret and keeps id, name, cap, list, and use';

/**
 * Rows whose tests stand elsewhere: they need a clock, another deployment, or are told with their
 * own story.
 */
export const PROVEN_ELSEWHERE: readonly ProvenElsewhere[] = [
  { row: 'what the service does: sentence 11 keys are created rotated', file: OPERATOR_API, title: KEY_RULE_4 },
  {
    row: 'api key: rule 1 creating a key requires',
    file: OPERATOR_API,
    title: 'key rules 1 and 3: a verified address, funds, and a maximum',
  },
  { row: 'api key: rule 4 rotation replaces the secret', file: OPERATOR_API, title: KEY_RULE_4 },
  { row: 'states and transitions: active rotate', file: OPERATOR_API, title: KEY_RULE_4 },
  {
    row: 'states and transitions: active revoke',
    file: ROTATION,
    title: 'a revoked, suspended or reinstated key, and a suspended account, are what the answer says at every edge',
  },
  {
    row: 'states and transitions: sentence 1 a key that is',
    file: ROTATION,
    title: 'a revoked, suspended or reinstated key, and a suspended account, are what the answer says at every edge',
  },
  {
    row: 'states and transitions: active expiry date passes',
    file: ROTATION,
    title: 'a key expires at its time, at every edge',
  },
  {
    row: 'authentication: rule 4 a leaked key is',
    file: ROTATION,
    title: 'no call that started after the answer is admitted with the old secret',
  },
  {
    row: 'errors: 404 anthropic_protocol_disabled',
    file: 'services/edge-proxy/src/http/messages-disabled.test.ts',
    title: '%s %s on a deployment without messages endpoints is 404 %s, before any key is looked at',
  },
  {
    row: 'errors: sentence 4 suggested backoff start near',
    file: 'deploy/verify/e2e/src/contract/openai-errors.test.ts',
    title: 'with its default retries it gets over a concurrency limit and over failing providers',
  },
  {
    row: 'limits: rule 1 per minute counting uses',
    file: 'services/admission/src/admit/minute.test.ts',
    title: 'the minute is a clock minute: full until its last millisecond, empty at the next',
  },
  {
    row: 'limits: rule 6 upstream response timeout 600',
    file: 'libs/service-kit/src/config.test.ts',
    title: 'the shared durations have the defaults that the protocol was checked with',
  },
  {
    row: 'limits: rule 3 the dashboard playground has',
    file: 'services/admission/src/admit/minute.test.ts',
    title: 'the playground has its own ten a minute and leaves the minute of the API alone',
  },
  {
    row: 'versioning: sentence 1 the api is versioned',
    file: 'libs/contracts/src/public/openapi.test.ts',
    title: 'its version is that of the specification',
  },
];

/** Sentences that promise nothing which could be seen, each with what it says instead. */
export const NOTHING_TO_TEST: Readonly<Record<string, string>> = {
  'model gateway api specification: sentence 1 this single document covers': 'what the document is about',
  'events: sentence 2 usage alerts at 50': 'their delivery is not specified, and clients of the API get none',
  'events: sentence 3 webhook or callback events': 'not specified',
  'limits: rule 10 plan specific numbers not': 'not specified',
  'versioning: sentence 3 deprecation and compatibility policy': 'not specified',
};
