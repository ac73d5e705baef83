import { randomBytes } from 'node:crypto';
import { expect, test } from '@jest/globals';
import { Aes256Gcm, CipherSuite, DhkemX25519HkdfSha256, HkdfSha256 } from '@hpke/core';
import { derivePrivateKey, hpkeOpen, hpkeSeal, makePrivateKey, derivePublicKey } from './hpke.js';

/** Another implementation of RFC 9180. */
const suite = new CipherSuite({ kem: new DhkemX25519HkdfSha256(), kdf: new HkdfSha256(), aead: new Aes256Gcm() });
const bytes = (buffer: Buffer) => new Uint8Array(buffer);
const binding = { info: Buffer.from('info'), aad: Buffer.from('aad') };

test.each([0, 1, 15, 16, 17, 4_096])(
  '%i bytes can be sealed here and opened by the other library, and vice versa',
  async (length) => {
    const privateKey = makePrivateKey();
    const publicKey = derivePublicKey(privateKey);
    const plaintext = randomBytes(length);
    const { enc, body } = hpkeSeal(publicKey, plaintext, binding);
    const recipientKey = await suite.kem.importKey('raw', bytes(privateKey), false);
    const opened = await suite.open(
      { recipientKey, enc: bytes(enc), info: bytes(binding.info) },
      bytes(body),
      bytes(binding.aad),
    );
    expect(Buffer.from(opened)).toEqual(plaintext);

    const recipientPublicKey = await suite.kem.importKey('raw', bytes(publicKey), true);
    const sent = await suite.seal(
      { recipientPublicKey, info: bytes(binding.info) },
      bytes(plaintext),
      bytes(binding.aad),
    );
    const message = { enc: Buffer.from(sent.enc), body: Buffer.from(sent.ct) };
    expect(hpkeOpen(privateKey, message, binding)).toEqual(plaintext);
  },
);

test('derivePrivateKey() derives the same key as the other library', async () => {
  const ikm = randomBytes(32);
  const { publicKey } = await suite.kem.deriveKeyPair(bytes(ikm));
  const expected = Buffer.from(await suite.kem.serializePublicKey(publicKey));
  expect(derivePublicKey(derivePrivateKey(ikm))).toEqual(expected);
});

test('hpkeOpen() refuses changed messages, other keys and other bindings', () => {
  const privateKey = makePrivateKey();
  const { enc, body } = hpkeSeal(derivePublicKey(privateKey), Buffer.from('text'), binding);
  expect(hpkeOpen(privateKey, { enc, body }, binding).toString()).toBe('text');
  const other = Buffer.from('other');
  const flipped = Buffer.from(body);
  flipped.writeUInt8(flipped.readUInt8(0) ^ 1);
  const wrong = [
    () => hpkeOpen(makePrivateKey(), { enc, body }, binding),
    () => hpkeOpen(privateKey, { enc: derivePublicKey(makePrivateKey()), body }, binding),
    () => hpkeOpen(privateKey, { enc, body: flipped }, binding),
    () => hpkeOpen(privateKey, { enc, body: body.subarray(1) }, binding),
    () => hpkeOpen(privateKey, { enc, body }, { ...binding, aad: other }),
    () => hpkeOpen(privateKey, { enc, body }, { ...binding, info: other }),
    // A point of small order leads to a shared secret of zero, which is public.
    () => hpkeOpen(privateKey, { enc: Buffer.alloc(32), body }, binding),
    () => hpkeSeal(Buffer.alloc(32), Buffer.from('text'), binding),
    () => hpkeSeal(Buffer.alloc(31), Buffer.from('text'), binding),
  ];
  for (const attempt of wrong) expect(attempt).toThrow();
});
