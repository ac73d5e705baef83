import type { Bus } from '@gateway/bus';
import { catalogListProfiles } from '@gateway/contracts/messages';
import { READS } from '../objects/answer.js';
import { PROFILES } from './profiles.js';

/** Registers the handler that lists the profiles, in the order of the page. */
export function serveProfiles(bus: Pick<Bus, 'serve'>): void {
  bus.serve(catalogListProfiles, () => Promise.resolve({ profiles: [...PROFILES] }), READS);
}
