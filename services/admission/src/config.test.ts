import { expect, test } from '@jest/globals';
import { BASE_FIELDS, readConfig } from '@gateway/service-kit';
import { ADMISSION_FIELDS, checkConfig } from './config.js';
import type { AdmissionConfig } from './config.js';

function configOf(env: Record<string, string>): AdmissionConfig {
  const servers = { GATEWAY_NATS_URL: 'nats://a:b@127.0.0.1:4222', GATEWAY_REDIS_URL: 'redis://127.0.0.1:6379' };
  return readConfig({ ...BASE_FIELDS, ...ADMISSION_FIELDS }, { ...servers, ...env });
}

test('the defaults are those of the money protocol', () => {
  const config = configOf({});
  expect(checkConfig(config)).toEqual([]);
  expect(config).toMatchObject({
    GATEWAY_LEASE_MS: 30_000,
    GATEWAY_EXPIRY_MS: 120_000,
    GATEWAY_SWEEP_MS: 1_000,
    GATEWAY_CLOCK_OFFSET_MS: 0,
  });
});

test('a clock offset requires test controls', () => {
  expect(checkConfig(configOf({ GATEWAY_CLOCK_OFFSET_MS: '1' }))).toHaveLength(1);
  expect(checkConfig(configOf({ GATEWAY_CLOCK_OFFSET_MS: '1', GATEWAY_TEST_CONTROLS: 'on' }))).toEqual([]);
});

test('a lease below three heartbeats of the edges is rejected', () => {
  const shortest = { GATEWAY_LEASE_MS: '6000' };
  expect(checkConfig(configOf(shortest))).toEqual([]);
  expect(checkConfig(configOf({ GATEWAY_LEASE_MS: '5999' }))).toEqual([
    expect.stringMatching(/^GATEWAY_LEASE_MS .* three times GATEWAY_HEARTBEAT_MS/),
  ]);
  expect(checkConfig(configOf({ ...shortest, GATEWAY_HEARTBEAT_MS: '2001' }))).toHaveLength(1);
  const short = { GATEWAY_LEASE_MS: '2500', GATEWAY_HEARTBEAT_MS: '300', GATEWAY_SWEEP_MS: '300' };
  expect(checkConfig(configOf(short))).toEqual([]);
});

test('a sweep interval that would hide a silence is rejected', () => {
  expect(checkConfig(configOf({ GATEWAY_SWEEP_MS: '9999' }))).toEqual([]);
  expect(checkConfig(configOf({ GATEWAY_SWEEP_MS: '10000' }))).toEqual([
    expect.stringMatching(/^GATEWAY_SWEEP_MS .* third of GATEWAY_LEASE_MS/),
  ]);
});

test('an expiry shorter than the lease and several Redis servers are rejected', () => {
  expect(checkConfig(configOf({ GATEWAY_EXPIRY_MS: '29999' }))).toHaveLength(1);
  const nodes = 'redis://127.0.0.1:1,redis://127.0.0.1:2';
  expect(checkConfig({ ...configOf({}), GATEWAY_REDIS_URL: { reveal: () => nodes } } as never)).toHaveLength(1);
});
