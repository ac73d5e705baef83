import { existsSync, mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import type { Child } from './children/child.js';
import { RunningJson, runningContent, type RunningFile, type RunningParts } from './running-file.js';

const child = (adminUrl: string, pid: number | null) => ({ adminUrl, pid }) as Child;
const server = (name: string, url: string, pid: number | null) => ({ name, url, pid });
const SERVERS = {
  postgres: server('postgres', 'postgres://p', null),
  nats: server('nats', 'nats://n', 11),
  redis: server('redis', 'redis://r', 12),
} as RunningParts['servers'];
const PARTS: RunningParts = {
  servers: SERVERS,
  members: { ...SERVERS },
  addresses: { publicUrl: 'http://public', dashboardUrl: 'http://dashboard' },
  secrets: { operatorToken: 'token' },
  supervisor: {
    all: () => [
      ['edge-proxy', [child('http://admin-1', 21), child('http://admin-2', null)]],
      ['billing', [child('http://admin-3', 23)]],
    ],
    edgeUrls: ['http://edge-1', 'http://edge-2'],
    operatorUrls: ['http://operator'],
    providerUrls: ['http://provider'],
  },
  starterPid: 1,
  demoApiKey: null,
};

let directory: string;
beforeEach(() => void (directory = mkdtempSync(join(tmpdir(), 'gateway-running-'))));
afterEach(() => rmSync(directory, { recursive: true }));

test("running.json has the first edge's addresses and the pids of all processes", () => {
  expect(runningContent(PARTS)).toEqual({
    edgeUrl: 'http://edge-1',
    edgeUrls: ['http://edge-1', 'http://edge-2'],
    chatBaseUrl: 'http://edge-1/v1',
    messagesBaseUrl: 'http://edge-1',
    dashboardUrl: 'http://dashboard',
    operatorUrl: 'http://operator/operator/v1',
    operatorToken: 'token',
    demoApiKey: null,
    providerUrls: ['http://provider'],
    natsUrl: 'nats://n',
    redisUrl: 'redis://r',
    postgresUrl: 'postgres://p',
    adminUrls: { 'edge-proxy': ['http://admin-1', 'http://admin-2'], billing: ['http://admin-3'] },
    pids: { starter: [1], postgres: [], nats: [11], redis: [12], 'edge-proxy': [21], billing: [23] },
  });
});

test('running.json exists until the stop, private and updated at each change', () => {
  const path = join(directory, 'running.json');
  const read = () => JSON.parse(readFileSync(path, 'utf8')) as RunningFile;
  const file = new RunningJson(directory);
  file.rewrite();
  expect(existsSync(path)).toBe(false);
  let demoApiKey = 'one';
  file.announce(() => runningContent({ ...PARTS, demoApiKey }));
  expect(read()).toEqual(runningContent({ ...PARTS, demoApiKey }));
  expect(statSync(path).mode & 0o777).toBe(0o600);
  demoApiKey = 'two';
  file.rewrite();
  expect(read().demoApiKey).toBe('two');
  file.remove();
  file.rewrite();
  expect(existsSync(path)).toBe(false);
});
