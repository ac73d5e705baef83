import type { ErrorCode } from '@gateway/contracts/errors';

/** The meaning of a refusal and the next step; `link` is a page of the dashboard. */
export interface Advice {
  readonly title: string;
  readonly next: string;
  readonly link?: { readonly to: string; readonly label: string };
  /** Whether the API's message adds a detail, such as a field or a number. */
  readonly showsMessage?: true;
}

const BILLING = { to: '/billing', label: 'Go to billing' };
const KEYS = { to: '/keys', label: 'Go to API keys' };
const MODELS = { to: '/models', label: 'See models' };
const SIGN_IN = { to: '/sign-in', label: 'Sign in' };
const ACCOUNT = { to: '/account', label: 'Go to your profile' };
const OTHER_MODEL = 'Try again, or use another model.';
const RETRY =
  'Try again in a moment. Nothing was charged. If the error persists, contact the operator of this gateway.';

function advise(title: string, next: string, link?: Advice['link']): Advice {
  return { title, next, ...(link && { link }) };
}

/** Refusals of the dashboard's own API. */
const OF_PAGES: Readonly<Record<string, Advice>> = {
  email_not_verified: advise(
    'Your email address is not verified yet',
    'Open the link in the email we sent you. If you cannot find it, send it again from your profile.',
    ACCOUNT,
  ),
  no_funding: advise('The account has no funds', 'Add funds or subscribe to a plan, then create the key.', BILLING),
  key_limit_reached: advise(
    'The account has reached its maximum of active keys',
    'Revoke a key that is no longer needed, or change to a plan with more keys.',
    KEYS,
  ),
  key_not_active: advise(
    'This key is not active',
    'Only an active key can be rotated. Create a new one instead.',
    KEYS,
  ),
  not_in_force: advise(
    'Saved, but not yet in force everywhere',
    'The change is saved and takes effect shortly. Reload the page to see its state.',
  ),
  dependency_unavailable: advise(
    'A part of the gateway does not respond',
    'Reload the page and check whether your change was made before you try again.',
  ),
  forbidden: {
    title: 'Your role does not allow this',
    next: 'Ask an owner or admin of the account.',
    showsMessage: true,
  },
  csrf: advise('This page is out of date', 'Reload the page and try again.'),
  not_signed_in: advise('You are not signed in', 'Sign in to continue.', SIGN_IN),
  not_found: {
    title: 'Not found',
    next: 'It does not exist in this account. Check the ID, or reload the page.',
    showsMessage: true,
  },
  state_conflict: {
    title: "This isn't possible in the current state",
    next: 'Reload the page and try again.',
    showsMessage: true,
  },
  invalid_request: { title: 'The form contains an error', next: 'Correct it and try again.', showsMessage: true },
  too_many_attempts: advise('Too many attempts', 'Wait before you try again.'),
  invalid_credentials: advise('Email or password is incorrect', 'Check both and try again, or reset your password.'),
  token_invalid: advise('This link no longer works', 'It was used already or has expired. Request a new one.'),
  network: advise('No response', 'Check your connection and try again.'),
  invalid_operator_token: advise(
    'The operator token is invalid or the session has ended',
    'Sign in with a valid operator token.',
  ),
  operator_forbidden: {
    title: 'Your operator role does not allow this',
    next: 'Ask an operator with the required role.',
    showsMessage: true,
  },
  in_use: { title: 'This is still in use', next: 'Remove the objects that refer to it first.', showsMessage: true },
};

/** Refusals of requests (specification, Errors). */
const OF_CALLS: Readonly<Record<ErrorCode, Advice>> = {
  invalid_request: advise('Invalid request', 'Correct the request. The error message names the field.'),
  model_not_available: advise('Model not available', 'Choose another model.', MODELS),
  endpoint_not_supported_for_model: advise(
    'Endpoint not supported by the model',
    'Use one of the endpoints that GET /v1/models lists for the model.',
    MODELS,
  ),
  missing_api_key: advise('No key sent', 'Send the key in Authorization: Bearer or x-api-key.'),
  invalid_api_key: advise(
    'Unknown key',
    'Check the key for typos, and whether it was rotated. A rotated secret stops at once.',
    KEYS,
  ),
  upstream_auth_error: advise(
    'Provider refused the gateway',
    'Your key is fine, but the credential of the gateway is not. Send the operator the request ID.',
  ),
  insufficient_credits: advise(
    'Not enough credit for the request',
    'Add funds, or lower max_tokens. The balance must cover the worst-case cost of the request.',
    BILLING,
  ),
  no_funding: advise('No plan and no balance', 'Subscribe to a plan or add funds to the wallet.', BILLING),
  outstanding_debt: advise('Negative balance', 'Add funds until the balance is no longer negative.', BILLING),
  member_cap_reached: advise(
    "Member's cap reached",
    'Raise the cap of the member, lower max_tokens, or wait for the next month.',
    { to: '/team', label: 'Go to team' },
  ),
  key_inactive: advise('Key revoked or suspended', 'Use another key.', KEYS),
  key_expired: advise('Key expired', 'Create a new key.', KEYS),
  account_suspended: advise('Account suspended', 'Contact the operator of this gateway.'),
  model_not_allowed_on_key: advise("Model not in the key's list", 'Use a model from the list, or another key.', KEYS),
  monthly_spend_cap_exceeded: advise(
    "Key's monthly cap reached",
    'Lower max_tokens, use another key, or wait for the next month. A cap cannot be changed.',
    KEYS,
  ),
  tier_permission_denied: advise('Model not in the plan', 'Add funds to the wallet, or change the plan.', BILLING),
  model_not_found: advise('Unknown model', 'Send the model ID with its publisher, as listed.', MODELS),
  unsupported_endpoint: advise('Unknown endpoint', 'Check the method, the path and the base URL.', {
    to: '/quick-start',
    label: 'See base URLs',
  }),
  anthropic_protocol_disabled: advise(
    'Messages endpoint disabled',
    'Use another endpoint of the model, or contact the operator of this gateway.',
  ),
  request_entity_too_large: advise('Request too large', 'Send at most 10 MB.'),
  rate_limited: advise(
    'Requests per minute reached',
    'Wait for the next clock minute. The limit applies to the account, so more keys do not help.',
  ),
  concurrency_limit: advise(
    'Too many concurrent requests',
    'Wait for a running request to end, or send fewer at a time.',
  ),
  window_exhausted: advise('Usage window used up', 'Wait until the window resets, or change the plan.', BILLING),
  model_limit_reached: advise("Model's allotment used up", 'Use another model until the period ends.', MODELS),
  rate_limit_exceeded: advise('Provider limits the rate', 'Wait, or use another model.'),
  upstream_timeout: advise('Provider took too long', 'Try again with a shorter response, or stream it.'),
  upstream_error: advise('Provider failed', OTHER_MODEL),
  upstream_unreachable: advise('Provider unreachable', OTHER_MODEL),
  no_upstream_available: advise('No provider available', 'Try again later, or use another model.'),
  lookup_failed: advise('Key could not be looked up', RETRY),
  admission_error: advise('Limits could not be checked', RETRY),
  catalog_error: advise('Models could not be read', RETRY),
  usage_unavailable: advise('Usage could not be read', 'Try again in a moment.'),
  model_not_priced: advise('Model has no price', 'Choose another model.', MODELS),
};

/** Returns the advice for an error of a page, or of a request in the playground. */
export function findAdvice(code: string): Advice | null {
  return OF_PAGES[code] ?? (isOfCalls(code) ? OF_CALLS[code] : null);
}

/** Returns the advice for a refused request. */
export function findCallAdvice(code: string): Advice {
  if (isOfCalls(code)) return OF_CALLS[code];
  return { title: code.replaceAll('_', ' '), next: 'Look up the code in the API documentation.' };
}

function isOfCalls(code: string): code is ErrorCode {
  return Object.hasOwn(OF_CALLS, code);
}
