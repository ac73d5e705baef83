import { z } from 'zod';
import {
  accountsBeginIdempotent,
  accountsCreateKey,
  accountsGetKey,
  accountsKeyCreation,
  accountsListKeys,
  accountsRotateKey,
  accountsSetKeyState,
  billingKeyMonths,
  objectId,
} from '@gateway/contracts/messages';
import { type KeyView, isRefusal, pageQuery } from '@gateway/contracts/operator';
import {
  type KeyCreation,
  type CreatedPageKey,
  type PageKeys,
  keyCreation,
  pageKeyCreate,
} from '@gateway/contracts/pages';
import { formatUsd, monthOf } from '@gateway/metering';
import { IDEMPOTENCY_KEY, IDEMPOTENCY_KEY_RULE, canonicalJson, isIdempotencyKey } from '../../http/idempotency.js';
import type { Refusal } from '../../http/refusals.js';
import type { RouteResult } from '../../http/route.js';
import { toPage } from '../../operator-api/parameters.js';
import { type AccountRequest, type UserRequest, defineRoute, refusePage } from '../route.js';
import { readNames } from './names.js';

const byKey = z.object({ key: objectId });

export const KEY_PAGE_ROUTES = [
  defineRoute({
    id: 'listKeys',
    access: 'member',
    method: 'GET',
    path: '/accounts/{account}/keys',
    query: pageQuery,
    handle: listKeys,
  }),
  defineRoute({
    id: 'createKey',
    access: 'member',
    method: 'POST',
    path: '/accounts/{account}/keys',
    body: pageKeyCreate,
    async handle(request): Promise<RouteResult> {
      const { services, secrets, account, author, body } = request;
      const memberId = body.memberId ?? account.memberId;
      if (account.role === 'member' && memberId !== account.memberId) {
        return refusePage('forbidden', 'a member can create keys only for themselves', 'memberId');
      }
      const spec = { ...body, memberId };
      const command = await commandOf(request, ['createKey', account.id, spec]);
      if (typeof command === 'object') return command;
      const { secret, ...stored } = secrets.makeKey();
      const question = { account: account.id, spec, ...stored, author, command };
      const answer = await services.request(accountsCreateKey, question);
      if (isRefusal(answer)) return answer;
      // Admission loads a new key on its first use, so no confirmation is needed.
      const made = { ...answer.key, secret: answer.repeated ? null : secret, inForce: true };
      return { status: 201, body: made satisfies CreatedPageKey };
    },
  }),
  defineRoute({
    id: 'rotateKey',
    access: 'member',
    method: 'POST',
    path: '/accounts/{account}/keys/{key}/rotate',
    params: byKey,
    handle: (request) =>
      ofOwnKey(request, async ({ id }) => {
        const { services, secrets, author } = request;
        const { secret, ...stored } = secrets.makeKey();
        const answer = await services.request(accountsRotateKey, { key: id, ...stored, author });
        if (isRefusal(answer)) return answer;
        // The old secret no longer exists, so the new one is shown even if admission does not have
        // it yet.
        const body = { ...answer.key, secret, inForce: answer.inForce };
        return { status: 200, body: body satisfies CreatedPageKey };
      }),
  }),
  defineRoute({
    id: 'revokeKey',
    access: 'member',
    method: 'POST',
    path: '/accounts/{account}/keys/{key}/revoke',
    params: byKey,
    handle: (request) =>
      ofOwnKey(request, async ({ id }) => {
        const { services, author } = request;
        const answer = await services.request(accountsSetKeyState, { key: id, verb: 'revoke', author });
        return isRefusal(answer) ? answer : { status: 200, body: answer.key };
      }),
  }),
];

async function listKeys(
  request: AccountRequest & { readonly query: z.output<typeof pageQuery> },
): Promise<RouteResult> {
  const { services, account, query } = request;
  const own = account.role === 'member' ? { member: account.memberId } : {};
  const [page, creation] = await Promise.all([
    services.request(accountsListKeys, { account: account.id, ...own, ...toPage(query) }),
    creationOf(request),
  ]);
  if (isRefusal(page)) return page;
  if ('refused' in creation) return creation;
  const [names, spend] = await Promise.all([
    readNames(services, account.id, { keys: [], members: page.keys.map(({ memberId }) => memberId) }),
    monthSpendOf(
      request,
      page.keys.map(({ id }) => id),
    ),
  ]);
  const data = page.keys.map((key) => ({
    ...key,
    memberEmail: names.memberEmail(key.memberId) ?? '',
    monthSpendUsd: spend.get(key.id) ?? '0',
  }));
  return { status: 200, body: { data, next_cursor: page.nextCursor, creation } satisfies PageKeys };
}

/** Returns whether the current member may create a key, and the refusal if not. */
async function creationOf({ services, account }: AccountRequest): Promise<KeyCreation | Refusal> {
  const question = { account: account.id, member: account.memberId };
  const answer = await services.request(accountsKeyCreation, question);
  if (isRefusal(answer)) return answer;
  const { refusal, activeKeys, activeKeysMax, defaultCapUsd } = answer;
  const code = refusal === null ? null : keyCreation.shape.code.parse(refusal.refused.code);
  return {
    allowed: refusal === null,
    code,
    message: refusal && refusal.refused.message,
    activeKeys,
    maxActiveKeys: activeKeysMax,
    defaultCapUsd,
  };
}

/** Calls `work` with a key of the account; members reach only their own keys. */
async function ofOwnKey(
  { services, account, params }: AccountRequest & { readonly params: { readonly key: string } },
  work: (key: KeyView) => Promise<RouteResult>,
): Promise<RouteResult> {
  const found = await services.request(accountsGetKey, { key: params.key });
  if (isRefusal(found)) return found;
  if (found.key.accountId !== account.id) return refusePage('not_found', 'there is no such key');
  if (account.role === 'member' && found.key.memberId !== account.memberId) {
    return refusePage('forbidden', 'the key belongs to another member');
  }
  return work(found.key);
}

/**
 * Returns the command of a request with an idempotency key. A repetition gets the same command, so
 * the service creates nothing twice. The response is not stored; a refused request runs again.
 * Undefined: the request has no idempotency key.
 */
async function commandOf(
  { services, secrets, author, idempotencyKey }: UserRequest,
  content: unknown,
): Promise<string | undefined | Refusal> {
  if (idempotencyKey === undefined) return undefined;
  if (!isIdempotencyKey(idempotencyKey)) return refusePage('invalid_request', IDEMPOTENCY_KEY_RULE, IDEMPOTENCY_KEY);
  const fingerprint = secrets.fingerprintOf(canonicalJson(content));
  const begun = await services.request(accountsBeginIdempotent, {
    operator: author.actor,
    idempotencyKey,
    fingerprint,
  });
  if (begun.kind === 'begun') return begun.command;
  return refusePage(
    'invalid_request',
    `the ${IDEMPOTENCY_KEY} was used with a different request; use a new key`,
    IDEMPOTENCY_KEY,
  );
}

/** Returns the charges of keys in this UTC month. Keys without charges are absent. */
async function monthSpendOf(
  { services, clock, account }: AccountRequest,
  keys: readonly string[],
): Promise<ReadonlyMap<string, string>> {
  if (keys.length === 0) return new Map();
  const month = monthOf(clock.nowMs());
  const { rows } = await services.request(billingKeyMonths, { account: account.id, month, keys: [...keys] });
  return new Map(rows.map(({ key, chargedNanoUsd }) => [key, formatUsd(BigInt(chargedNanoUsd))]));
}
