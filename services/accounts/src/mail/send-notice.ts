import { digestOfMailToken, makeMailToken } from '@gateway/contracts/ids';
import { epochMs, objectId, requestOrigin, type MailTokenKind, type RequestOrigin } from '@gateway/contracts/messages';
import { z } from 'zod';
import { composeNotice, NOTICES, TOKEN_LIFE_MS, type Notice } from './notice-rules.js';
import type { MailStore, MailTx } from './store.js';
import type { UserWithPassword } from '../base/rules.js';
import { countNoRecipient, trySending, type SendingDeps } from './send-mail.js';

export interface SendNoticeDeps extends SendingDeps {
  readonly store: Pick<MailStore, 'change' | 'account'>;
  readonly dashboardUrl: string;
}

/** The actor of an unauthenticated request, which only contains an address. */
const STRANGER = 'stranger';
/** Maximum number of valid tokens per kind and user. An email that was sent twice has two. */
const TOKENS_MAX = 5;

interface NoticeRow {
  readonly body: unknown;
  readonly attempts: number;
}

const queuedNotice = z.object({
  notice: z.enum(NOTICES),
  user: objectId.nullable(),
  account: objectId.nullable(),
  origin: requestOrigin.nullable(),
  queuedAt: epochMs,
});

/**
 * Sends one sign-in email. Its token is created here and only its digest is stored. The token is
 * kept after a failed attempt, because the email may have been delivered.
 */
export async function sendNotice(deps: SendNoticeDeps, row: NoticeRow): Promise<void> {
  const { notice, user, account, origin, queuedAt } = queuedNotice.parse(row.body);
  if (user === null) return countNoRecipient();
  const invited = account === null ? null : await deps.store.account(account);
  if (account !== null && (invited === null || invited.account.state === 'closed')) return countNoRecipient();
  const made = await deps.store.change((tx) =>
    prepare(tx, { notice, user, origin: row.attempts === 0 ? origin : null }, deps.nowMs()),
  );
  if (made === null) return countNoRecipient();
  const input = { dashboardUrl: deps.dashboardUrl, token: made.token, accountName: invited && invited.account.name };
  const mail = { id: `${notice}.${user}.${queuedAt}`, to: made.email, ...composeNotice(notice, input) };
  await trySending(deps, mail, { notice, user }, queuedAt);
}

async function prepare(
  tx: MailTx,
  { notice, user, origin }: { notice: Notice; user: string; origin: RequestOrigin | null },
  now: number,
): Promise<{ readonly email: string; readonly token: string | null } | null> {
  const person = await tx.lockPerson(user);
  // Erased addresses have no @.
  if (person === null || !person.email.includes('@')) return null;
  if (notice === 'verify' && person.emailVerified) return null;
  const kind = tokenKindOf(notice, person);
  if (kind === null) return { email: person.email, token: null };
  const token = makeMailToken();
  const times = { createdAt: now, expiresAt: now + TOKEN_LIFE_MS[kind] };
  await tx.insertMailToken({ digest: digestOfMailToken(token), user, kind, ...times }, TOKENS_MAX);
  if (origin !== null) {
    const entry = { action: `request_${notice}`, account: null, objectId: user, before: null, after: null };
    await tx.audit({ kind: 'access', author: { actor: STRANGER, origin }, ...entry });
  }
  return { email: person.email, token };
}

function tokenKindOf(notice: Notice, { passwordHash }: UserWithPassword): MailTokenKind | null {
  switch (notice) {
    case 'verify':
    case 'reset':
      return notice;
    case 'invitation':
      return passwordHash === null ? notice : null;
    case 'known_address':
      return 'reset';
    case 'password_changed':
      return null;
  }
}
