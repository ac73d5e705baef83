import { expect, test } from '@jest/globals';
import { checkConfig } from './config.js';

const CONFIG = { GATEWAY_BEAT_MS: 2_000, GATEWAY_HOST: '0.0.0.0', GATEWAY_TEST_CONTROLS: false };

test('heartbeats so rare that leases would lapse between them are a problem', () => {
  expect(checkConfig(CONFIG)).toEqual([]);
  expect(checkConfig({ ...CONFIG, GATEWAY_BEAT_MS: 10_000 })).toEqual([]);
  expect(checkConfig({ ...CONFIG, GATEWAY_BEAT_MS: 10_001 })).toEqual([
    expect.stringMatching(/^GATEWAY_BEAT_MS .* 10000/),
  ]);
});

test('test controls are for an address that strangers do not reach', () => {
  expect(checkConfig({ ...CONFIG, GATEWAY_TEST_CONTROLS: true })).toHaveLength(1);
  expect(checkConfig({ ...CONFIG, GATEWAY_TEST_CONTROLS: true, GATEWAY_HOST: '127.0.0.1' })).toEqual([]);
});
