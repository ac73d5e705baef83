import type { ErrorCode } from '@gateway/contracts/errors';

/** What a refusal means and what to do next; `link` is a page of the dashboard. */
export interface Advice {
  readonly title: string;
  readonly next: string;
  readonly link?: { readonly to: string; readonly label: string };
}

const BILLING = { to: '/billing', label: 'Go to billing' };
const KEYS = { to: '/keys', label: 'Go to API keys' };
const MODELS = { to: '/models', label: 'See models' };
const ACCOUNT = { to: '/account', label: 'Go to your profile' };

/** Refusals of this dashboard's own API. */
const OF_PAGES: Readonly<Record<string, Advice>> = {
  email_not_verified: {
    title: 'Your e-mail address is not verified yet',
    next: 'Open the link in the mail we sent you. Nothing there? Have it sent again from your profile.',
    link: ACCOUNT,
  },
  no_funding: {
    title: 'The account has no funds',
    next: 'A key needs an active plan or a positive wallet balance. Add funds first, then come back.',
    link: BILLING,
  },
  key_limit_reached: {
    title: 'The account has as many active keys as it may have',
    next: 'Revoke a key that is no longer needed, or move to a plan with more keys. Revoked keys do not count.',
    link: KEYS,
  },
  key_not_active: {
    title: 'This key is not active',
    next: 'Only an active key can be rotated. Create a new one instead.',
    link: KEYS,
  },
  not_in_force: {
    title: 'Saved, but not yet in force everywhere',
    next: 'The change is stored and every part of the gateway will have it shortly. Reload to see the state.',
  },
  dependency_unavailable: {
    title: 'A part of the gateway does not answer',
    next: 'If you were changing something, reload the page and look before you try again: it may have been done all the same.',
  },
  forbidden: {
    title: 'Your role does not allow this',
    next: 'Ask an owner or admin of the account.',
  },
  csrf: { title: 'This page is out of date', next: 'Reload the page and try again.' },
  not_signed_in: { title: 'You are signed out', next: 'Sign in again; nothing was changed.' },
  not_found: { title: 'Not found', next: 'It does not exist in this account, or was removed meanwhile.' },
  state_conflict: { title: 'That does not fit the present state', next: 'Reload the page and look again.' },
  invalid_request: { title: 'Something in the form is not right', next: 'Correct the marked field and try again.' },
  too_many_attempts: { title: 'Too many attempts', next: 'Wait a while before you try again.' },
  invalid_credentials: {
    title: 'Address and password do not match',
    next: 'Check both, or reset your password.',
  },
  token_invalid: {
    title: 'This link does not work any more',
    next: 'It was used already, or is too old. Ask for a new one.',
  },
  network: { title: 'No answer', next: 'Check your connection and try again.' },
  operator_forbidden: {
    title: 'Your operator role does not allow this',
    next: 'Ask an operator with the role for it.',
  },
  in_use: { title: 'It is still in use', next: 'Remove what refers to it first.' },
};

/** Refusals of calls (specification, Errors). */
const OF_CALLS: Readonly<Record<ErrorCode, Advice>> = {
  invalid_request: {
    title: 'Request not valid',
    next: 'Correct the request: the message of the error names the field.',
  },
  model_not_available: { title: 'Model switched off', next: 'Choose another model.', link: MODELS },
  endpoint_not_supported_for_model: {
    title: 'Endpoint not served for the model',
    next: 'Call the model on one of the endpoints that GET /v1/models shows for it.',
    link: MODELS,
  },
  missing_api_key: { title: 'No key sent', next: 'Send the key in Authorization: Bearer or x-api-key.' },
  invalid_api_key: {
    title: 'Key not known',
    next: 'Check it for typing errors, and whether it was rotated: the old secret stops at once.',
    link: KEYS,
  },
  upstream_auth_error: {
    title: 'Provider refused the gateway',
    next: 'Your key is fine: the credential of the gateway is not. Tell whoever runs it, with the request id.',
  },
  insufficient_credits: {
    title: 'Not enough credit for the call',
    next: 'Add funds, or lower max_tokens: the worst case of the call must be covered.',
    link: BILLING,
  },
  no_funding: {
    title: 'No plan and no balance',
    next: 'Subscribe to a plan or add funds to the wallet.',
    link: BILLING,
  },
  outstanding_debt: {
    title: 'Negative balance',
    next: 'Settle the negative balance; then calls pass again.',
    link: BILLING,
  },
  member_cap_reached: {
    title: "Member's cap reached",
    next: 'Raise the cap of the member, lower max_tokens, or wait for the next month.',
    link: { to: '/team', label: 'Go to team' },
  },
  key_inactive: { title: 'Key revoked or suspended', next: 'Use another key.', link: KEYS },
  key_expired: { title: 'Key expired', next: 'Create a new key.', link: KEYS },
  account_suspended: { title: 'Account suspended', next: 'Ask whoever runs this gateway.' },
  model_not_allowed_on_key: {
    title: "Model not in the key's list",
    next: 'Use a model of the list, or a key without that list.',
    link: KEYS,
  },
  monthly_spend_cap_exceeded: {
    title: "Key's monthly cap reached",
    next: 'Lower max_tokens, use another key, or wait for the next month: a cap cannot be changed.',
    link: KEYS,
  },
  tier_permission_denied: {
    title: 'Model not in the plan',
    next: 'Add funds to the wallet, or change the plan.',
    link: BILLING,
  },
  model_not_found: { title: 'Model not known', next: 'Send the id with its publisher, as listed.', link: MODELS },
  unsupported_endpoint: {
    title: 'Endpoint not known',
    next: 'Check method, path and base URL.',
    link: { to: '/quick-start', label: 'See base URLs' },
  },
  anthropic_protocol_disabled: {
    title: 'Messages endpoint switched off',
    next: 'Call the model on another of its endpoints, or ask whoever runs this gateway.',
  },
  request_entity_too_large: { title: 'Request too large', next: 'Send less than 10 MB.' },
  rate_limited: {
    title: 'Requests per minute reached',
    next: 'Wait for the next clock minute. More keys do not help: the limit is of the account.',
  },
  concurrency_limit: { title: 'Too many calls at once', next: 'Wait for a running call to end; run fewer at a time.' },
  window_exhausted: { title: 'Usage window used up', next: 'Wait for its reset, or change the plan.', link: BILLING },
  model_limit_reached: {
    title: "Model's allotment used up",
    next: 'Use another model until the period ends.',
    link: MODELS,
  },
  rate_limit_exceeded: { title: 'Provider is busy', next: 'Wait, or use another model.' },
  upstream_timeout: { title: 'Provider took too long', next: 'Try again; ask for a shorter answer, or stream it.' },
  upstream_error: { title: 'Provider failed', next: 'Try again, or use another model.' },
  upstream_unreachable: { title: 'Provider not reached', next: 'Try again, or use another model.' },
  no_upstream_available: { title: 'No provider now', next: 'Try again later, or use another model.' },
  lookup_failed: {
    title: 'Key could not be looked up',
    next: 'Try again in a moment: nothing was charged. If it goes on, tell whoever runs this gateway.',
  },
  admission_error: {
    title: 'Limits could not be checked',
    next: 'Try again in a moment: nothing was charged. If it goes on, tell whoever runs this gateway.',
  },
  catalog_error: {
    title: 'Models could not be read',
    next: 'Try again in a moment: nothing was charged. If it goes on, tell whoever runs this gateway.',
  },
  usage_unavailable: { title: 'Usage cannot be read now', next: 'Try again in a moment.' },
  model_not_priced: { title: 'Model has no price', next: 'Choose another model.', link: MODELS },
};

/** What to do about an error of a page; calls of the playground have the codes of the API. */
export function adviceOf(code: string): Advice | null {
  return OF_PAGES[code] ?? (isOfCalls(code) ? OF_CALLS[code] : null);
}

/** What to do about a refused call. */
export function callAdvice(code: string): Advice {
  if (isOfCalls(code)) return OF_CALLS[code];
  return { title: code.replaceAll('_', ' '), next: 'Look the code up in the API documentation.' };
}

function isOfCalls(code: string): code is ErrorCode {
  return Object.hasOwn(OF_CALLS, code);
}
