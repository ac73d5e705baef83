import { counter } from '@gateway/service-kit';

export const bucketsOpened = counter('gateway_admission_buckets_opened_total', 'Buckets that were restored and opened');
