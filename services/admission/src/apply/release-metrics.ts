import { counter } from '@gateway/service-kit';

export const releasesTotal = counter('gateway_admission_releases_total', 'Releases by outcome', {
  outcome: ['ok', 'void', 'blind', 'fault'],
});
