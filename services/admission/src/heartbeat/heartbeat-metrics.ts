import { counter } from '@gateway/service-kit';

export const heartbeatsTotal = counter('gateway_admission_beats_total', 'Beats of edges that were taken');
