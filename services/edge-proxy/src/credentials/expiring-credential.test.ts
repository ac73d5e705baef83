import { expect, test } from '@jest/globals';
import { CredentialError } from '../ports.js';
import { ExpiringCredential, type CurrentCredential, type IssuedCredential } from './expiring-credential.js';

const LIFE_MS = 3_600_000;
const REFRESH_MS = 3_300_000;

/** A credential whose endpoint and clock the test controls. */
class Played {
  nowMs = 1_000_000;
  asked = 0;
  readonly outcomes: (string | null)[] = [];
  #open: { readonly resolve: (issued: IssuedCredential<string>) => void; readonly reject: (err: unknown) => void }[] =
    [];
  readonly credential = new ExpiringCredential<string>({
    fetch: () => {
      this.asked += 1;
      return new Promise((resolve, reject) => this.#open.push({ resolve, reject }));
    },
    nowMs: () => this.nowMs,
    random: () => 1,
    ended: (reason) => this.outcomes.push(reason),
  });

  async issue(value: string, lifeMs = LIFE_MS): Promise<void> {
    for (const { resolve } of this.#open.splice(0)) resolve({ value, expiresAtMs: this.nowMs + lifeMs });
    await settled();
  }

  async fail(err: unknown): Promise<void> {
    for (const { reject } of this.#open.splice(0)) reject(err);
    await settled();
  }
}

async function settled(): Promise<void> {
  for (let turn = 0; turn < 10; turn += 1) await Promise.resolve();
}

async function issued(value = 'one'): Promise<{ played: Played; held: CurrentCredential<string> }> {
  const played = new Played();
  const asked = played.credential.get();
  await played.issue(value);
  return { played, held: await asked };
}

test('200 concurrent callers cause one request', async () => {
  const played = new Played();
  const asked = Array.from({ length: 200 }, () => Promise.resolve(played.credential.get()));
  await played.issue('one');
  expect(new Set((await Promise.all(asked)).map(({ value }) => value))).toEqual(new Set(['one']));
  expect([played.asked, played.outcomes]).toEqual([1, [null]]);
  expect(played.credential.get()).toMatchObject({ value: 'one' });
});

test('a credential is refreshed before its end by one request, while calls use it', async () => {
  const { played } = await issued();
  played.nowMs += REFRESH_MS - 1;
  expect(played.credential.get()).toMatchObject({ value: 'one' });
  expect(played.asked).toBe(1);
  played.nowMs += 1;
  for (let call = 0; call < 3; call += 1) expect(played.credential.get()).toMatchObject({ value: 'one' });
  expect(played.asked).toBe(2);
  await played.issue('two');
  expect(played.credential.get()).toMatchObject({ value: 'two' });
});

test('a failed refresh keeps the credential until its end and retries with backoff', async () => {
  const { played } = await issued();
  played.nowMs += REFRESH_MS;
  for (const pauseMs of [1_000, 2_000, 4_000, 8_000, 16_000, 30_000, 30_000]) {
    const before = played.asked;
    void played.credential.get();
    expect(played.asked).toBe(before + 1);
    await played.fail(new CredentialError('the token endpoint returned 500'));
    played.nowMs += pauseMs - 1;
    expect(played.credential.get()).toMatchObject({ value: 'one' });
    expect(played.asked).toBe(before + 1);
    played.nowMs += 1;
  }
  played.nowMs = 1_000_000 + LIFE_MS;
  const waiting = played.credential.get();
  await played.issue('two');
  expect(await waiting).toMatchObject({ value: 'two' });
});

test('without a credential callers get the reason, immediately until the next retry', async () => {
  const played = new Played();
  const first = Promise.resolve(played.credential.get());
  const told = expect(first).rejects.toThrow('ECONNREFUSED');
  await played.fail(Object.assign(new Error('connect to secret.example'), { code: 'ECONNREFUSED' }));
  await told;
  await expect(played.credential.get()).rejects.toThrow(CredentialError);
  expect([played.asked, played.outcomes]).toEqual([1, ['ECONNREFUSED']]);
  played.nowMs += 1_000;
  const again = played.credential.get();
  await played.issue('one');
  expect(await again).toMatchObject({ value: 'one' });
});

test('a credential that is issued expired is rejected', async () => {
  const played = new Played();
  const told = expect(Promise.resolve(played.credential.get())).rejects.toThrow('has already expired');
  await played.issue('old', 0);
  await told;
});

test('a refused credential is replaced once, however many callers report it', async () => {
  const { played, held } = await issued();
  expect(played.credential.mayReplace(held.version)).toBe(true);
  for (let call = 0; call < 3; call += 1) played.credential.replace(held.version);
  const waiting = [1, 2].map(() => Promise.resolve(played.credential.get()));
  await played.issue('two');
  const [next] = await Promise.all(waiting);
  expect([next?.value, played.asked]).toEqual(['two', 2]);
  // A call that used the first credential reports its refusal late.
  expect(played.credential.mayReplace(held.version)).toBe(true);
  played.credential.replace(held.version);
  expect(played.credential.get()).toMatchObject({ value: 'two' });
});

test('credentials that are always refused are replaced every 30 s only', async () => {
  const { played, held } = await issued();
  played.credential.replace(held.version);
  const waiting = played.credential.get();
  await played.issue('two');
  const { version } = await waiting;
  expect(played.credential.mayReplace(version)).toBe(false);
  played.credential.replace(version);
  expect(played.credential.get()).toMatchObject({ value: 'two' });
  played.nowMs += 30_000;
  expect(played.credential.mayReplace(version)).toBe(true);
});
