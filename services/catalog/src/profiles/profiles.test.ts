import { expect, test } from '@jest/globals';
import { mayForward, providerProfile } from '@gateway/contracts/operator';
import { PROFILES } from './profiles.js';

test.each(PROFILES.map((profile) => [profile.id, profile] as const))(
  '%s is a valid profile with permitted forwarded headers',
  (_id, profile) => {
    expect(providerProfile.parse(profile)).toEqual(profile);
    expect(profile.forwardHeaders?.filter((name) => name !== name.toLowerCase() || !mayForward(name)) ?? []).toEqual(
      [],
    );
  },
);
