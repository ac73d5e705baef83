import { enqueue, type Tx } from '@gateway/postgres';
import type { CountedAttempts } from '../throttle.js';
import type { Person, SignInTx } from '../signing-ports.js';
import { NOTICE_TOPIC, SIGN_UP_TOPIC, MAIL_OUTBOX } from '../mail/store.js';
import { userFromRow, type UserRow, written } from '../rows.js';

type PersonRow = UserRow & { readonly password_hash: string | null };
interface CountRow {
  readonly attempts: number;
  readonly began_at: Date;
}

/** Passwords, sessions, tokens of mails, attempts. */
export function makeSignInTx(tx: Tx, queued: () => void): SignInTx {
  const person = async (text: string, value: string): Promise<Person | null> => {
    const row = await tx.one<PersonRow>(text, [value]);
    return row && { ...userFromRow(row), passwordHash: row.password_hash };
  };
  return {
    personOfEmail: (email) => person('SELECT * FROM users WHERE email = $1', email),
    lockPerson: (id) => person('SELECT * FROM users WHERE id = $1 FOR NO KEY UPDATE', id),
    async setPassword(user, passwordHash) {
      await tx.execute('UPDATE users SET password_hash = $2 WHERE id = $1', [user, passwordHash]);
    },
    async insertSession({ digest, user, nowMs }, keptMax) {
      const text = 'INSERT INTO sessions (digest, user_id, created_at, seen_at) VALUES ($1, $2, $3, $3)';
      await tx.execute(text, [digest, user, new Date(nowMs)]);
      const surplus = `DELETE FROM sessions WHERE digest IN (
          SELECT digest FROM sessions WHERE user_id = $1 AND digest <> $2 ORDER BY created_at DESC, digest OFFSET $3)`;
      await tx.execute(surplus, [user, digest, keptMax - 1]);
    },
    async endSession(digests) {
      await tx.execute('DELETE FROM sessions WHERE digest = ANY($1)', [digests]);
    },
    async userOfSession(digests) {
      const text = 'SELECT user_id FROM sessions WHERE digest = ANY($1) LIMIT 1';
      return (await tx.one<{ user_id: string }>(text, [digests]))?.user_id ?? null;
    },
    async endSessions(user, kept) {
      await tx.execute('DELETE FROM sessions WHERE user_id = $1 AND digest <> ALL($2)', [user, kept]);
    },
    async insertMailToken({ digest, user, kind, createdAt, expiresAt }, keptMax) {
      const text =
        'INSERT INTO mail_tokens (digest, user_id, kind, created_at, expires_at) VALUES ($1, $2, $3, $4, $5)';
      await tx.execute(text, [digest, user, kind, new Date(createdAt), new Date(expiresAt)]);
      const surplus = `DELETE FROM mail_tokens WHERE digest IN (
          SELECT digest FROM mail_tokens WHERE user_id = $1 AND kind = $2 AND digest <> $3
           ORDER BY created_at DESC, digest OFFSET $4)`;
      await tx.execute(surplus, [user, kind, digest, keptMax - 1]);
    },
    async userOfMailToken(kind, digest, nowMs) {
      const text = 'SELECT user_id FROM mail_tokens WHERE digest = $1 AND kind = $2 AND expires_at > $3';
      return (await tx.one<{ user_id: string }>(text, [digest, kind, new Date(nowMs)]))?.user_id ?? null;
    },
    async forgetMailTokens(user, kind) {
      await tx.execute('DELETE FROM mail_tokens WHERE user_id = $1 AND ($2::text IS NULL OR kind = $2)', [user, kind]);
    },
    async countAttempt(limit, subject, nowMs) {
      const values = [limit.kind, subject, new Date(nowMs), new Date(nowMs - limit.windowMs)];
      return countedFromRow(await written(tx.one<CountRow>(COUNT, values)));
    },
    async attemptsOf(limit, subject, nowMs) {
      const text =
        'SELECT attempts, began_at FROM attempts WHERE kind = $1 AND slot = attempt_slot($1, $2) AND began_at > $3';
      const values = [limit.kind, subject, new Date(nowMs - limit.windowMs)];
      const row = await tx.one<CountRow>(text, values);
      return row ? countedFromRow(row) : { attempts: 0, beganAt: nowMs };
    },
    async takeBackAttempt(limit, subject) {
      const text = `UPDATE attempts SET attempts = greatest(0, attempts - 1)
        WHERE kind = $1 AND slot = attempt_slot($1, $2)`;
      await tx.execute(text, [limit.kind, subject]);
    },
    queueSignUp(signUp) {
      queued();
      return enqueue(tx, { topic: SIGN_UP_TOPIC, key: `sign_up:${signUp.email}`, body: { ...signUp } }, MAIL_OUTBOX);
    },
    queueNotice(notice) {
      queued();
      const row = { topic: NOTICE_TOPIC, key: `notice:${notice.user ?? 'nobody'}`, body: { ...notice } };
      return enqueue(tx, row, MAIL_OUTBOX);
    },
  };
}

/** Subjects whose slot is one are counted together, which is rare, and errs on the side of waiting. */
const COUNT = `INSERT INTO attempts (kind, slot, attempts, began_at) VALUES ($1, attempt_slot($1, $2), 1, $3)
  ON CONFLICT (kind, slot) DO UPDATE
    SET attempts = CASE WHEN attempts.began_at <= $4 THEN 1 ELSE least(attempts.attempts, 1000000) + 1 END,
        began_at = CASE WHEN attempts.began_at <= $4 THEN $3 ELSE attempts.began_at END
  RETURNING attempts, began_at`;

function countedFromRow({ attempts, began_at }: CountRow): CountedAttempts {
  return { attempts, beganAt: began_at.getTime() };
}
