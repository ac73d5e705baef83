import { readdirSync, readFileSync } from 'node:fs';
import { expect, test } from '@jest/globals';
import { ENDPOINTS } from '../messages/index.js';
import { mayForward, providerProfile } from '../operator/index.js';
import { ANTHROPIC_COMPATIBLE, OPENAI_COMPATIBLE, PROFILES } from './index.js';

const PROVIDERS = new URL('./', import.meta.url);
const ALL = [...PROFILES, OPENAI_COMPATIBLE, ANTHROPIC_COMPATIBLE];

test.each(ALL.map((profile) => [profile.id, profile] as const))('%s is a valid profile', (_id, profile) => {
  expect(providerProfile.parse(profile)).toEqual(profile);
  for (const { text } of profile.errors) if (text !== null) expect(() => new RegExp(text, 'i')).not.toThrow();
  for (const name of Object.keys(profile.endpoints)) expect(ENDPOINTS).toContain(name);
  const { forwardHeaders = [] } = profile;
  expect(forwardHeaders.filter((name) => name !== name.toLowerCase() || !mayForward(name))).toEqual([]);
});

test('every profile is in the folder of its ID and in the list', () => {
  const folders = readdirSync(PROVIDERS, { withFileTypes: true }).filter((entry) => entry.isDirectory());
  expect(PROFILES.map(({ id }) => id).sort()).toEqual(folders.map(({ name }) => name).sort());
});

test.each(PROFILES.map(({ id }) => id))('the facts of %s have their source and date', (folder) => {
  const { id, facts } = JSON.parse(readFileSync(new URL(`${folder}/facts.json`, PROVIDERS), 'utf8')) as {
    id: string;
    facts: Record<string, { source: string; date: string; says: string }[]>;
  };
  expect(id).toBe(folder);
  expect(Object.keys(facts)).toContain('endpoints');
  for (const { source, date, says } of Object.values(facts).flat()) {
    expect([source, date, says].every((text) => typeof text === 'string' && text !== '')).toBe(true);
  }
});
