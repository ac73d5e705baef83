import type { ErrorRule } from '@gateway/contracts/operator';
import { normalizeCode, type ReportedError } from './reported-error.js';

/**
 * The cause of a provider's error, which decides the consequences (class-rules). The status decides
 * only if nothing is more specific.
 *
 * - `body`: this request, at any source.
 * - `content`: the prompt was moderated.
 * - `credential`, `funds`: our credential or balance at this provider.
 * - `model`: this provider does not have the model, or not for us.
 * - `forbidden`: a 403 without a known code or text.
 * - `not_found`: a 404 without a known code or text.
 * - `item`: a stored object that this source does not have.
 * - `quota`: the provider's rate limit.
 * - `overload`: the provider fails.
 * - `late`: the provider timed out.
 * - `unexpected`: another 4xx status.
 * - `foreign`: a response that no model provider sends.
 */
export type ErrorClass =
  | 'body'
  | 'content'
  | 'credential'
  | 'funds'
  | 'model'
  | 'forbidden'
  | 'not_found'
  | 'item'
  | 'quota'
  | 'overload'
  | 'late'
  | 'unexpected'
  | 'foreign';

export interface ErrorInput {
  /** Status of the response; null inside a stream, and for a 200 that is an error. */
  readonly status: number | null;
  readonly reported: ReportedError | null;
  /** Value of a header that names the error. */
  readonly errorType: string | undefined;
  /** The model's name at the source. */
  readonly upstreamModel: string;
  /** Rules for errors of this provider whose meaning differs from the usual one. */
  readonly rules?: readonly ErrorRule[] | undefined;
}

export interface ClassifiedError {
  readonly class: ErrorClass;
  /** No content of a client's request can have caused the error. */
  readonly certain: boolean;
  /**
   * Status of the response, else the status that the error names or usually has; null if unknown.
   */
  readonly status: number | null;
}

/** Returns the class of a provider's error. */
export function classifyError({
  status: answered,
  reported,
  errorType,
  upstreamModel,
  rules,
}: ErrorInput): ClassifiedError {
  const codes = collectCodes(reported, errorType);
  const has = (known: ReadonlySet<string>): boolean => codes.some((code) => known.has(code));
  const text = reported?.message ?? '';
  const status = answered ?? reported?.status ?? findStatusByCode(codes);
  const is = (name: ErrorClass, certain = false): ClassifiedError => ({ class: name, certain, status });
  const isOwnModel = (): boolean =>
    has(DEPLOYMENT_CODES) || WHOLE_MODEL_TEXT.test(text) || hasWord(text, upstreamModel);
  if (status !== null && (status < 400 || status > 599)) return is('foreign');
  if (reported?.moderated === true || has(CONTENT_CODES) || CONTENT_TEXT.test(text)) return is('content');
  const ruled = rules === undefined ? undefined : findRuleClass(rules, status, codes, text);
  if (ruled !== undefined) {
    return is(ruled, ruled === 'credential' || ruled === 'funds' || (ruled === 'model' && isOwnModel()));
  }
  const isOpen = status === null || MAY_BE_OURS.has(status);
  const mayExplain = status === null || status === 400 || status === 401 || status === 403 || status === 429;
  if (status === 402 || (isOpen && (has(FUNDS_CODES) || (mayExplain && FUNDS_TEXT.test(text)))))
    return is('funds', true);
  if (status === 401 || (isOpen && (has(CREDENTIAL_CODES) || (mayExplain && CREDENTIAL_TEXT.test(text)))))
    return is('credential', true);
  if (isOpen && (has(ITEM_CODES) || ITEM_TEXT.test(text))) return is('item');
  if (isOpen && (has(MODEL_CODES) || ((status === 403 || status === 404) && MODEL_TEXT.test(text)))) {
    return is('model', isOwnModel());
  }
  if (status === 429 || (status !== 413 && has(QUOTA_CODES))) return is('quota');
  return is(CLASS_OF_STATUS.get(status ?? 500) ?? (status === null || status >= 500 ? 'overload' : 'unexpected'));
}

/** Returns the class of the first rule that matches. */
function findRuleClass(
  rules: readonly ErrorRule[],
  status: number | null,
  codes: readonly string[],
  text: string,
): ErrorClass | undefined {
  return rules.find(
    (rule) =>
      (rule.status === null || rule.status === status) &&
      (rule.code === null || codes.includes(normalizeCode(rule.code))) &&
      (rule.text === null || compilePattern(rule.text).test(text)),
  )?.class;
}

/** Compiled patterns of profiles. There are few. */
const patterns = new Map<string, RegExp>();

function compilePattern(text: string): RegExp {
  let pattern = patterns.get(text);
  if (pattern === undefined) patterns.set(text, (pattern = new RegExp(text, 'i')));
  return pattern;
}

function collectCodes(reported: ReportedError | null, errorType: string | undefined): readonly string[] {
  const ofBody = reported?.codes ?? [];
  return errorType === undefined ? ofBody : [...ofBody, normalizeCode(errorType.split(':', 1)[0] ?? '')];
}

function findStatusByCode(codes: readonly string[]): number | null {
  for (const code of codes) {
    const status = STATUS_OF_CODE.get(code);
    if (status !== undefined) return status;
  }
  return null;
}

/**
 * Returns whether a text contains the model's name as a whole word. A longer name is another model.
 */
function hasWord(text: string, model: string): boolean {
  for (let at = text.indexOf(model); at >= 0; at = text.indexOf(model, at + 1)) {
    const before = text[at - 1] ?? ' ';
    const after = text.slice(at + model.length, at + model.length + 2);
    if (!/[\w.-]/.test(before) && !/^(?:[\w-]|\.\w)/.test(after)) return true;
  }
  return false;
}

const set = (...codes: string[]): ReadonlySet<string> => new Set(codes.map(normalizeCode));

/** Statuses of errors that may be caused by our account at the provider, or by a stored object. */
const MAY_BE_OURS: ReadonlySet<number> = new Set([400, 401, 403, 404, 410, 422, 429]);

const CLASS_OF_STATUS: ReadonlyMap<number, ErrorClass> = new Map([
  [400, 'body'],
  [403, 'forbidden'],
  [404, 'not_found'],
  [408, 'late'],
  [413, 'body'],
  [422, 'body'],
  [425, 'late'],
]);

const CONTENT_CODES = set(
  'content_filter',
  'content_policy_violation',
  'ResponsibleAIPolicyViolation',
  'invalid_prompt',
  'moderation_blocked',
  'data_inspection_failed',
  'base_resp_1026',
  'base_resp_1027',
);
/**
 * A client can send a prompt that makes the provider use these words. It gains nothing: only its
 * own request fails.
 */
const CONTENT_TEXT =
  /flagged (?:as|by|for)\b|content management policy|content filter(?:ing|ed)?\b|content exists risk|content violates|rejected as a result of our safety/i;

const FUNDS_CODES = set(
  'insufficient_quota',
  'billing_error',
  'billing_not_active',
  'billing_hard_limit_reached',
  'insufficient_balance',
  'base_resp_1008',
);
/** Beginnings of providers' error texts. Text of a client is only quoted further inside. */
const FUNDS_TEXT =
  /^(?:your credit balance is too low|insufficient (?:balance|credits|funds)|your (?:newly created )?teams? (?:[0-9a-f-]{8,40} )?(?:doesn't have any credits|has either used all available credits)|you have run out of credits|this api method requires billing)/i;

const CREDENTIAL_CODES = set(
  'invalid_api_key',
  'API_KEY_INVALID',
  'API_KEY_EXPIRED',
  'API_KEY_SERVICE_BLOCKED',
  'ACCESS_TOKEN_EXPIRED',
  'SERVICE_DISABLED',
  'CONSUMER_INVALID',
  'CONSUMER_SUSPENDED',
  'UNAUTHENTICATED',
  'authentication_error',
  'AuthenticationError',
  'account_deactivated',
  'UnrecognizedClientException',
  'ExpiredTokenException',
  'InvalidSignatureException',
  'base_resp_1004',
  'base_resp_2049',
);
const CREDENTIAL_TEXT =
  /^(?:(?:incorrect|invalid|missing|expired|no) (?:x-)?api[ -]key\b|api key (?:not valid|not found|expired|invalid)|your api key\b|authentication (?:fails|failed)|invalid (?:authentication|bearer token)|access denied due to invalid subscription key|unauthorized\b|the security token included in the request is (?:invalid|expired))/i;

const ITEM_CODES = set(
  'previous_response_not_found',
  'item_not_found',
  'file_not_found',
  'conversation_not_found',
  'invalid_encrypted_content',
);
const ITEM_TEXT =
  /^(?:(?:item|previous response|response|file|conversation|container|vector store|prompt)s?\b.{0,200}\bnot found|no such (?:file|response|conversation|vector store|container|prompt)\b|file not found|the encrypted content .{0,400}could not be verified)/i;

const DEPLOYMENT_CODES = set('DeploymentNotFound');
const MODEL_CODES = set(
  'model_not_found',
  'model_not_allowed',
  'model_decommissioned',
  'model_terms_required',
  'invalid_model',
  'unknown_model',
  'DeploymentNotFound',
);
const MODEL_TEXT =
  /^(?:the |this |your |requested )*models?\b|^no endpoints found|\bmodels?\b.{0,200}\b(?:not exist|not found|no access|not have access|not supported|unavailable|not available)|access to (?:the )?model\b/i;
const WHOLE_MODEL_TEXT =
  /^(?:the )?(?:requested )?model (?:does not exist|is not available|not found|was not found)\.?$/i;

const QUOTA_CODES = set(
  'rate_limit_error',
  'rate_limit_exceeded',
  'too_many_requests',
  'ThrottlingException',
  'TooManyRequestsException',
  'ServiceQuotaExceededException',
  'RESOURCE_EXHAUSTED',
  'base_resp_1002',
);

/** For errors without a status: the status that the provider usually sends with the code. */
const STATUS_OF_CODE: ReadonlyMap<string, number> = new Map(
  (
    [
      ['invalid_request_error', 400],
      ['BadRequestError', 400],
      ['ValidationException', 400],
      ['INVALID_ARGUMENT', 400],
      ['context_length_exceeded', 400],
      ['invalid_prompt', 400],
      ['content_filter', 400],
      ['authentication_error', 401],
      ['billing_error', 402],
      ['permission_error', 403],
      ['PERMISSION_DENIED', 403],
      ['AccessDeniedException', 403],
      ['not_found_error', 404],
      ['NotFoundError', 404],
      ['NOT_FOUND', 404],
      ['request_too_large', 413],
      ['rate_limit_error', 429],
      ['rate_limit_exceeded', 429],
      ['ThrottlingException', 429],
      ['RESOURCE_EXHAUSTED', 429],
      ['api_error', 500],
      ['server_error', 500],
      ['internal_server_error', 500],
      ['timeout_error', 504],
      ['overloaded_error', 529],
    ] as const
  ).map(([code, status]) => [normalizeCode(code), status]),
);
