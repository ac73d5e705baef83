import type { SourceTestCall } from '@gateway/contracts/operator';
import type { MeterResult } from '../formats/meter.js';
import type { ErrorClass } from '../errors/error-class.js';
import type { AttemptJudgment } from '../errors/judge-attempt.js';
import { cleanMessage } from '../errors/provider-message.js';
import type { SourceFailure } from '../ports.js';

export type TestFinding = SourceTestCall['finding'];

/** The result of one test call. */
export interface TestResult {
  readonly judged: Pick<AttemptJudgment, 'outcome' | 'errorClass' | 'status' | 'reported'>;
  /** The usage that the response reported; null if there was no response. */
  readonly meter: Pick<MeterResult, 'usage' | 'problem'> | null;
  /** Why the connection failed or was not made; null if it did not fail. */
  readonly failure: Pick<SourceFailure, 'kind' | 'reason'> | null;
  /** Why the call had no credential; null if it had one or needs none. */
  readonly noCredential: string | null;
  /** Whether the time of the test was over. */
  readonly isLate: boolean;
  readonly target: TestTarget;
}

/** Names for the finding's text. */
export interface TestTarget {
  /** Host and port. */
  readonly host: string;
  readonly path: string;
  readonly upstreamModel: string;
  readonly hasCredential: boolean;
  /** Whether calls to the endpoint are charged by their reported usage. */
  readonly isBilled: boolean;
}

export interface FindingText {
  readonly finding: TestFinding;
  readonly text: string;
}

/** Returns the finding of a test call, with a text that says what to do. */
export function classifyResult(facts: TestResult): FindingText {
  if (isOutOfTokens(facts.judged)) return { finding: 'works', text: 'It works: its reasoning used the output limit.' };
  const finding = kindOf(facts);
  return { finding, text: finding === 'works' ? worksInWords(facts) : WORDS[finding](facts) };
}

/** Matches provider errors for a model that reached its output limit before its first text. */
const OUT_OF_TOKENS =
  /could not finish\b.{0,80}\b(?:max_(?:completion_|output_)?tokens|output limit)|\b(?:max_(?:completion_|output_)?tokens|output limit)\b.{0,40}\bwas reached/i;

function isOutOfTokens({ errorClass, status, reported }: TestResult['judged']): boolean {
  return errorClass !== null && status === 400 && OUT_OF_TOKENS.test((reported?.message ?? '').slice(0, 500));
}

function kindOf({ judged, failure, noCredential, isLate }: TestResult): TestFinding {
  const { outcome, errorClass, reported } = judged;
  if (outcome === 'completed') return 'works';
  if (noCredential !== null) return 'credential';
  if (isLate) return 'slow';
  if (errorClass !== null) return isOfPlace(errorClass, reported) ? 'region' : OF_CLASS[errorClass];
  if (outcome === 'unreachable') return failure === null ? 'slow' : unreachable(failure.reason);
  if (outcome === 'timed_out') return 'slow';
  return failure === null ? 'answer' : 'broken';
}

const OF_CLASS: Readonly<Record<ErrorClass, TestFinding>> = {
  body: 'body',
  content: 'body',
  credential: 'credential',
  funds: 'funds',
  model: 'model',
  forbidden: 'forbidden',
  not_found: 'path',
  item: 'body',
  quota: 'quota',
  overload: 'overload',
  late: 'slow',
  unexpected: 'answer',
  foreign: 'answer',
};

/** Node's codes for a failed name lookup. */
const OF_NAMES = /^(?:ENOTFOUND|EAI_\w+|ENODATA|ESERVFAIL)$/;
/** Codes of TLS and certificate errors. */
const OF_TLS = /CERT|TLS|SSL|UNABLE_TO_|SELF_SIGNED|^EPROTO$|HOSTNAME_MISMATCH/;

function unreachable(reason: string): TestFinding {
  if (OF_NAMES.test(reason)) return 'dns';
  return OF_TLS.test(reason) ? 'tls' : 'address';
}

/** Error classes that may mean that a provider does not serve a country or region. */
const MAY_BE_PLACE: ReadonlySet<ErrorClass> = new Set(['forbidden', 'model', 'body', 'not_found', 'credential']);
const PLACE_CODES: ReadonlySet<string> = new Set(['unsupportedcountryregionterritory', 'unsupportedlocation']);
const PLACE_TEXT =
  /\b(?:country|region|territory|location)\b.{0,60}\b(?:not (?:supported|available|allowed)|unsupported|unavailable)\b|(?:\bnot|n't) (?:supported|available|allowed) (?:in|from|for) (?:your|this|the)\b.{0,20}\b(?:country|region|territory|location)\b/i;

function isOfPlace(errorClass: ErrorClass, reported: AttemptJudgment['reported']): boolean {
  if (reported === null || !MAY_BE_PLACE.has(errorClass)) return false;
  return (
    reported.codes.some((code) => PLACE_CODES.has(code)) || PLACE_TEXT.test((reported.message ?? '').slice(0, 500))
  );
}

function worksInWords({ meter, target: { isBilled } }: TestResult): string {
  if (!isBilled || (meter !== null && meter.usage !== null)) return 'It works.';
  return meter?.problem === 'malformed'
    ? 'It works, but the usage that it reports cannot be read: calls would be charged by an estimate.'
    : 'It works, but it reports no usage: calls would be charged by an estimate.';
}

const WORDS: Readonly<Record<Exclude<TestFinding, 'works'>, (facts: TestResult) => string>> = {
  credential: ({ noCredential, target }) => {
    if (noCredential !== null) return `No credential is available for the call: ${noCredential}`;
    return target.hasCredential
      ? 'The provider refuses the credential: enter the right one, and check the type of auth.'
      : 'The provider requires a credential, and the source has none.';
  },
  funds: () => 'The account at the provider has no funds, or its spending limit is reached: add credit there.',
  forbidden: () =>
    'The provider forbids the call and gives no reason: check the permissions of the key, the project and the allowed networks.',
  region: () =>
    'The provider does not serve the country or region that the call comes from, or does not offer the model in it.',
  model: ({ target }) =>
    `The provider does not know the model ${target.upstreamModel}, or does not offer it to this account: check upstreamModel, region and access.`,
  path: ({ target }) =>
    `The provider has nothing at ${target.path}, or does not know the model ${target.upstreamModel}: check baseUrl, paths and upstreamModel.`,
  quota: () => 'The provider limits the rate of this account. The credential works, but requests have to wait.',
  body: () =>
    'The provider rejects something in the request: see its error text. Rules of the source (body) can remove or rename fields.',
  overload: ({ judged: { status } }) =>
    status === null ? 'The provider fails.' : `The provider fails with status ${status}: try again later.`,
  slow: ({ target }) => `${target.host} gave no complete response in time.`,
  dns: ({ target }) => `The name ${target.host} cannot be resolved: check baseUrl.`,
  tls: ({ failure, target }) =>
    `No trusted connection to ${target.host} (${failure?.reason ?? ''}): check its certificate, or add its CA with NODE_EXTRA_CA_CERTS.`,
  address: ({ failure, target }) =>
    failure?.kind === 'private'
      ? `${target.host} is a private address, which is allowed only with GATEWAY_ALLOW_PRIVATE_SOURCES.`
      : `No connection to ${target.host} (${failure?.reason ?? ''}): check baseUrl and the network access of the edges.`,
  broken: ({ failure, target }) =>
    `${target.host} ended the connection before its response (${failure?.reason ?? ''}).`,
  answer: ({ judged: { status }, target }) =>
    `${target.host} sent a response${status === null ? '' : ` with status ${status}`} that does not come from a model provider: check baseUrl and paths.`,
  untried: () => 'Not tried.',
};

/** Most characters of a provider's text that an operator sees. */
const SHOWN_LENGTH_MAX = 500;
/** Shorter texts are not treated as secrets, since they could occur by chance. */
const SECRET_LENGTH_MIN = 6;

/**
 * Returns the provider's error text without addresses, IDs and credentials, or null if there is
 * none.
 * @param sent secrets of the request, which are removed from the text
 */
export function cleanProviderText(reported: AttemptJudgment['reported'], sent: readonly string[]): string | null {
  let text = reported?.message ?? '';
  for (const secret of sent) if (secret.length >= SECRET_LENGTH_MIN) text = text.replaceAll(secret, '[removed]');
  const cleaned = Array.from(cleanMessage(text)).slice(0, SHOWN_LENGTH_MAX).join('');
  return cleaned === '' ? null : cleaned;
}
