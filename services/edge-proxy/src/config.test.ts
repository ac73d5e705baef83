import { expect, test } from '@jest/globals';
import { checkConfig } from './config.js';

const CONFIG = { GATEWAY_HEARTBEAT_MS: 2_000, GATEWAY_HOST: '0.0.0.0', GATEWAY_TEST_CONTROLS: false };

test('checkConfig() rejects a heartbeat interval longer than a third of the lease', () => {
  expect(checkConfig(CONFIG)).toEqual([]);
  expect(checkConfig({ ...CONFIG, GATEWAY_HEARTBEAT_MS: 10_000 })).toEqual([]);
  expect(checkConfig({ ...CONFIG, GATEWAY_HEARTBEAT_MS: 10_001 })).toEqual([
    expect.stringMatching(/^GATEWAY_HEARTBEAT_MS .* 10000/),
  ]);
});

test('checkConfig() allows test controls only on a loopback address', () => {
  expect(checkConfig({ ...CONFIG, GATEWAY_TEST_CONTROLS: true })).toHaveLength(1);
  expect(checkConfig({ ...CONFIG, GATEWAY_TEST_CONTROLS: true, GATEWAY_HOST: '127.0.0.1' })).toEqual([]);
});
