import {
  accountsCreateKey,
  accountsGetKey,
  accountsKeyCreation,
  accountsListKeys,
  accountsRotateKey,
  accountsSetKeyState,
  objectId,
} from '@gateway/contracts/messages';
import { isRefusal, pageQuery, type KeyView } from '@gateway/contracts/operator';
import {
  keyCreation,
  pageKeyCreate,
  type KeyCreation,
  type PageKeyCreated,
  type PageKeys,
} from '@gateway/contracts/pages';
import { z } from 'zod';
import { refusePage, type PageRefusal } from '../refusals.js';
import { commandOf } from './command-of.js';
import { accountRoute, type AccountContext, type PageHandled } from '../route.js';
import { pageOfQuery } from '../../operator-api/parameters.js';
import { monthSpendOf } from './month-spend.js';
import { namesOf } from './names.js';

const byKey = z.object({ key: objectId });

export const KEY_PAGE_ROUTES = [
  accountRoute('member', { id: 'listKeys', method: 'GET', path: '/keys', query: pageQuery, handle: listKeys }),
  accountRoute('member', {
    id: 'createKey',
    method: 'POST',
    path: '/keys',
    body: pageKeyCreate,
    async handle(request): Promise<PageHandled> {
      const { door, account, actor, body } = request;
      const memberId = body.memberId ?? account.memberId;
      if (account.role === 'member' && memberId !== account.memberId) {
        return refusePage('forbidden', 'a member makes keys of their own only', 'memberId');
      }
      const spec = { ...body, memberId };
      const command = await commandOf(request, ['createKey', account.id, spec]);
      if (typeof command === 'object') return command;
      const { secret, ...stored } = door.secrets.makeKey();
      const question = { account: account.id, spec, ...stored, actor, command };
      const answer = await door.services.request(accountsCreateKey, question);
      if (isRefusal(answer)) return answer;
      // Admission loads a new key when it is first used, so there is nothing to wait for.
      const made = { ...answer.key, secret: answer.repeated ? null : secret, inForce: true };
      return { status: 201, body: made satisfies PageKeyCreated };
    },
  }),
  accountRoute('member', {
    id: 'rotateKey',
    method: 'POST',
    path: '/keys/{key}/rotate',
    params: byKey,
    handle: (request) =>
      ofOwnKey(request, async ({ id }) => {
        const { door, actor } = request;
        const { secret, ...stored } = door.secrets.makeKey();
        const answer = await door.services.request(accountsRotateKey, { key: id, ...stored, actor });
        if (isRefusal(answer)) return answer;
        // The old secret is gone, so the new one is answered also when admission does not have it yet.
        const body = { ...answer.key, secret, inForce: answer.inForce };
        return { status: 200, body: body satisfies PageKeyCreated };
      }),
  }),
  accountRoute('member', {
    id: 'revokeKey',
    method: 'POST',
    path: '/keys/{key}/revoke',
    params: byKey,
    handle: (request) =>
      ofOwnKey(request, async ({ id }) => {
        const { door, actor } = request;
        const answer = await door.services.request(accountsSetKeyState, { key: id, verb: 'revoke', actor });
        return isRefusal(answer) ? answer : { status: 200, body: answer.key };
      }),
  }),
];

async function listKeys(
  request: AccountContext & { readonly query: z.output<typeof pageQuery> },
): Promise<PageHandled> {
  const { door, account, query } = request;
  const own = account.role === 'member' ? { member: account.memberId } : {};
  const [page, creation] = await Promise.all([
    door.services.request(accountsListKeys, { account: account.id, ...own, ...pageOfQuery(query) }),
    creationOf(request),
  ]);
  if (isRefusal(page)) return page;
  if ('refused' in creation) return creation;
  const [names, spend] = await Promise.all([
    namesOf(door.services, account.id, { keys: [], members: page.keys.map(({ memberId }) => memberId) }),
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

/** What the key rules would say to the one who asks. */
async function creationOf({ door, account }: AccountContext): Promise<KeyCreation | PageRefusal> {
  const question = { account: account.id, member: account.memberId };
  const answer = await door.services.request(accountsKeyCreation, question);
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

/** A key of the account; a member's own. The keys of other accounts are not known here. */
async function ofOwnKey(
  { door, account, params }: AccountContext & { readonly params: { readonly key: string } },
  work: (key: KeyView) => Promise<PageHandled>,
): Promise<PageHandled> {
  const found = await door.services.request(accountsGetKey, { key: params.key });
  if (isRefusal(found)) return found;
  if (found.key.accountId !== account.id) return refusePage('not_found', 'there is no such key');
  if (account.role === 'member' && found.key.memberId !== account.memberId) {
    return refusePage('forbidden', 'the key is of another member');
  }
  return work(found.key);
}
