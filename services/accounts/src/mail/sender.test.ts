import { expect, test } from '@jest/globals';
import { isOpenToOthers } from './sender.js';

test.each([
  ['smtp://user:password@mail.example:587', true],
  ['smtp://mail.example', true],
  ['smtps://user:password@mail.example', false],
  ['smtp://mailbox:1025', false],
  ['smtp://Mailhog.Internal', false],
  ['smtp://127.1', false],
  ['smtp://relay.example:25?ignoreTLS=true', false],
  ['smtp://user:password@10.1.2.3:25', false],
  ['smtp://user:password@mail.example?requireTLS=false', false],
])('%s requires STARTTLS: %s', (url, isOpen) => {
  expect(isOpenToOthers(new URL(url))).toBe(isOpen);
});
