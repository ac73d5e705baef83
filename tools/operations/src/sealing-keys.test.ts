import { expect, test } from '@jest/globals';
import { COMMON_FIELDS, openSealed, readConfig, sealTo } from '@gateway/service-kit';
import { makeSealingKeys } from './sealing-keys.js';

const { GATEWAY_SOURCE_PUBLIC_KEY, GATEWAY_SOURCE_PRIVATE_KEY } = COMMON_FIELDS;
const { GATEWAY_WEBHOOK_PUBLIC_KEY, GATEWAY_WEBHOOK_PRIVATE_KEY } = COMMON_FIELDS;
const FIELDS = {
  GATEWAY_SOURCE_PUBLIC_KEY,
  GATEWAY_SOURCE_PRIVATE_KEY,
  GATEWAY_WEBHOOK_PUBLIC_KEY,
  GATEWAY_WEBHOOK_PRIVATE_KEY,
};

test("the printed keys are two pairs that cannot open each other's texts", () => {
  const keys = makeSealingKeys();
  expect(Object.keys(keys).sort()).toEqual(Object.keys(FIELDS).sort());
  const config = readConfig(FIELDS, keys);
  const source = { privateKey: config.GATEWAY_SOURCE_PRIVATE_KEY };
  const webhook = { privateKey: config.GATEWAY_WEBHOOK_PRIVATE_KEY };
  const sealed = sealTo('sk-1', 'src', config.GATEWAY_SOURCE_PUBLIC_KEY);
  expect(openSealed(sealed, 'src', source)).toBe('sk-1');
  expect(() => openSealed(sealed, 'src', webhook)).toThrow();
  expect(openSealed(sealTo('s', 'w', config.GATEWAY_WEBHOOK_PUBLIC_KEY), 'w', webhook)).toBe('s');
  expect(makeSealingKeys()).not.toEqual(keys);
});
