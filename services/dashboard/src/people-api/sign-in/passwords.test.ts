import { expect, test } from '@jest/globals';
import { createPasswords, SCRYPT_LOG_N } from './passwords.js';

const CLIENT = '192.0.2.1';

test('a hash is salted, states its cost and matches only its password', async () => {
  expect(SCRYPT_LOG_N).toBe(17);
  const passwords = createPasswords(4);
  const [one, two] = [await passwords.hash('correct horse', CLIENT), await passwords.hash('correct horse', CLIENT)];
  expect(one).toMatch(/^\$scrypt\$ln=4,r=8,p=1\$[A-Za-z0-9+/]{22}\$[A-Za-z0-9+/]{43}$/);
  expect(one).not.toBe(two);
  expect(await passwords.isRight('correct horse', one as string, CLIENT)).toBe(true);
  expect(await passwords.isRight('Correct horse', one as string, CLIENT)).toBe(false);
  expect(await passwords.isRight('', one as string, CLIENT)).toBe(false);
  // Composed and decomposed letters are equal.
  const accented = await passwords.hash('pass\u00e9 compos\u00e9', CLIENT);
  expect(await passwords.isRight('passe\u0301 compose\u0301', accented as string, CLIENT)).toBe(true);
});

test('hashes of another cost still match and are outdated', async () => {
  const old = (await createPasswords(4).hash('correct horse', CLIENT)) as string;
  const passwords = createPasswords(5);
  expect(await passwords.isRight('correct horse', old, CLIENT)).toBe(true);
  expect([passwords.isOutdated(old), passwords.isOutdated((await passwords.hash('x', CLIENT)) as string)]).toEqual([
    true,
    false,
  ]);
  await expect(passwords.isRight('x', '$scrypt$ln=30,r=8,p=1$c2FsdA$aGFzaA', CLIENT)).rejects.toThrow('cannot be read');
  await expect(passwords.isRight('x', '$argon2id$', CLIENT)).rejects.toThrow('cannot be read');
});

test('an unknown address never matches and takes as long as a wrong password', async () => {
  const passwords = createPasswords(14);
  const hash = (await passwords.hash('correct horse', CLIENT)) as string;
  const timeOf = async (of: string | null): Promise<number> => {
    const times = [];
    for (let again = 0; again < 3; again += 1) {
      const began = performance.now();
      expect(await passwords.isRight('wrong', of, CLIENT)).toBe(false);
      times.push(performance.now() - began);
    }
    return Math.min(...times);
  };
  // Without a comparison, this would take almost no time.
  expect(await timeOf(null)).toBeGreaterThan((await timeOf(hash)) / 5);
});

test('two passwords are hashed at a time, 32 wait and more are refused at once', async () => {
  const passwords = createPasswords(10);
  const all = await Promise.all(
    Array.from({ length: 60 }, (_, at) => passwords.hash(`password ${at}`, `client ${at}`)),
  );
  const turnedAway = all.filter((hash) => hash === 'busy').length;
  expect(turnedAway).toBe(60 - 2 - 32);
  expect(await passwords.hash('after', CLIENT)).not.toBe('busy');
});

test('one client cannot fill the queue and is served normally after its flood', async () => {
  const passwords = createPasswords(10);
  const flood = Array.from({ length: 40 }, (_, at) => passwords.hash(`password ${at}`, CLIENT));
  const others = Array.from({ length: 24 }, (_, at) => passwords.isRight('wrong', null, `client ${at}`));
  const [hashes, answers] = await Promise.all([Promise.all(flood), Promise.all(others)]);
  expect(hashes.filter((hash) => hash !== 'busy')).toHaveLength(2 + 8);
  expect(answers).toEqual(Array(24).fill(false));
  const again = await Promise.all(Array.from({ length: 10 }, () => passwords.hash('after', CLIENT)));
  expect(again).not.toContain('busy');
});
