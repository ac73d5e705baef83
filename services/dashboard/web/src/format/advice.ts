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
const RETRY =
  'Try again in a moment. Nothing was charged. If the error persists, contact the operator of this gateway.';

/** Refusals of the dashboard's own API. */
const OF_PAGES: Readonly<Record<string, Advice>> = {
  email_not_verified: {
    title: 'Your email address is not verified yet',
    next: 'Open the link in the email we sent you. If you cannot find it, send it again from your profile.',
    link: ACCOUNT,
  },
  no_funding: {
    title: 'The account has no funds',
    next: 'Add funds or subscribe to a plan, then create the key.',
    link: BILLING,
  },
  key_limit_reached: {
    title: 'The account has reached its maximum of active keys',
    next: 'Revoke a key that is no longer needed, or change to a plan with more keys.',
    link: KEYS,
  },
  key_not_active: {
    title: 'This key is not active',
    next: 'Only an active key can be rotated. Create a new one instead.',
    link: KEYS,
  },
  not_in_force: {
    title: 'Saved, but not yet in force everywhere',
    next: 'The change is saved and takes effect shortly. Reload the page to see its state.',
  },
  dependency_unavailable: {
    title: 'A part of the gateway does not respond',
    next: 'Reload the page and check whether your change was made before you try again.',
  },
  forbidden: {
    title: 'Your role does not allow this',
    next: 'Ask an owner or admin of the account.',
    showsMessage: true,
  },
  csrf: { title: 'This page is out of date', next: 'Reload the page and try again.' },
  not_signed_in: { title: 'You are not signed in', next: 'Sign in to continue.', link: SIGN_IN },
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
  too_many_attempts: { title: 'Too many attempts', next: 'Wait before you try again.' },
  invalid_credentials: {
    title: 'Email or password is incorrect',
    next: 'Check both and try again, or reset your password.',
  },
  token_invalid: {
    title: 'This link no longer works',
    next: 'It was used already or has expired. Request a new one.',
  },
  network: { title: 'No response', next: 'Check your connection and try again.' },
  invalid_operator_token: {
    title: 'The operator token is invalid or the session has ended',
    next: 'Sign in with a valid operator token.',
  },
  operator_forbidden: {
    title: 'Your operator role does not allow this',
    next: 'Ask an operator with the required role.',
    showsMessage: true,
  },
  in_use: { title: 'This is still in use', next: 'Remove the objects that refer to it first.', showsMessage: true },
};

/** Refusals of requests (specification, Errors). */
const OF_CALLS: Readonly<Record<ErrorCode, Advice>> = {
  invalid_request: {
    title: 'Invalid request',
    next: 'Correct the request. The error message names the field.',
  },
  model_not_available: { title: 'Model not available', next: 'Choose another model.', link: MODELS },
  endpoint_not_supported_for_model: {
    title: 'Endpoint not supported by the model',
    next: 'Use one of the endpoints that GET /v1/models lists for the model.',
    link: MODELS,
  },
  missing_api_key: { title: 'No key sent', next: 'Send the key in Authorization: Bearer or x-api-key.' },
  invalid_api_key: {
    title: 'Unknown key',
    next: 'Check the key for typos, and whether it was rotated. A rotated secret stops at once.',
    link: KEYS,
  },
  upstream_auth_error: {
    title: 'Provider refused the gateway',
    next: 'Your key is fine, but the credential of the gateway is not. Send the operator the request ID.',
  },
  insufficient_credits: {
    title: 'Not enough credit for the request',
    next: 'Add funds, or lower max_tokens. The balance must cover the worst-case cost of the request.',
    link: BILLING,
  },
  no_funding: {
    title: 'No plan and no balance',
    next: 'Subscribe to a plan or add funds to the wallet.',
    link: BILLING,
  },
  outstanding_debt: {
    title: 'Negative balance',
    next: 'Add funds until the balance is no longer negative.',
    link: BILLING,
  },
  member_cap_reached: {
    title: "Member's cap reached",
    next: 'Raise the cap of the member, lower max_tokens, or wait for the next month.',
    link: { to: '/team', label: 'Go to team' },
  },
  key_inactive: { title: 'Key revoked or suspended', next: 'Use another key.', link: KEYS },
  key_expired: { title: 'Key expired', next: 'Create a new key.', link: KEYS },
  account_suspended: { title: 'Account suspended', next: 'Contact the operator of this gateway.' },
  model_not_allowed_on_key: {
    title: "Model not in the key's list",
    next: 'Use a model from the list, or another key.',
    link: KEYS,
  },
  monthly_spend_cap_exceeded: {
    title: "Key's monthly cap reached",
    next: 'Lower max_tokens, use another key, or wait for the next month. A cap cannot be changed.',
    link: KEYS,
  },
  tier_permission_denied: {
    title: 'Model not in the plan',
    next: 'Add funds to the wallet, or change the plan.',
    link: BILLING,
  },
  model_not_found: { title: 'Unknown model', next: 'Send the model ID with its publisher, as listed.', link: MODELS },
  unsupported_endpoint: {
    title: 'Unknown endpoint',
    next: 'Check the method, the path and the base URL.',
    link: { to: '/quick-start', label: 'See base URLs' },
  },
  anthropic_protocol_disabled: {
    title: 'Messages endpoint disabled',
    next: 'Use another endpoint of the model, or contact the operator of this gateway.',
  },
  request_entity_too_large: { title: 'Request too large', next: 'Send at most 10 MB.' },
  rate_limited: {
    title: 'Requests per minute reached',
    next: 'Wait for the next clock minute. The limit applies to the account, so more keys do not help.',
  },
  concurrency_limit: {
    title: 'Too many concurrent requests',
    next: 'Wait for a running request to end, or send fewer at a time.',
  },
  window_exhausted: {
    title: 'Usage window used up',
    next: 'Wait until the window resets, or change the plan.',
    link: BILLING,
  },
  model_limit_reached: {
    title: "Model's allotment used up",
    next: 'Use another model until the period ends.',
    link: MODELS,
  },
  rate_limit_exceeded: { title: 'Provider limits the rate', next: 'Wait, or use another model.' },
  upstream_timeout: { title: 'Provider took too long', next: 'Try again with a shorter response, or stream it.' },
  upstream_error: { title: 'Provider failed', next: 'Try again, or use another model.' },
  upstream_unreachable: { title: 'Provider unreachable', next: 'Try again, or use another model.' },
  no_upstream_available: { title: 'No provider available', next: 'Try again later, or use another model.' },
  lookup_failed: { title: 'Key could not be looked up', next: RETRY },
  admission_error: { title: 'Limits could not be checked', next: RETRY },
  catalog_error: { title: 'Models could not be read', next: RETRY },
  usage_unavailable: { title: 'Usage could not be read', next: 'Try again in a moment.' },
  model_not_priced: { title: 'Model has no price', next: 'Choose another model.', link: MODELS },
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
