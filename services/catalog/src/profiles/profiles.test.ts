import { expect, test } from '@jest/globals';
import { providerProfile } from '@gateway/contracts/operator';
import { PROFILES } from './profiles.js';

test.each(PROFILES.map((profile) => [profile.id, profile] as const))('%s has the form of a profile', (_id, profile) => {
  expect(providerProfile.parse(profile)).toEqual(profile);
});
