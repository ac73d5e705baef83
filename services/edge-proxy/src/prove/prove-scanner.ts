import { compareScan } from './compare-scan.js';
import { generateDocument } from './generate-document.js';
import { Random } from './random.js';

export interface Proof {
  readonly seed: number;
  readonly documents: number;
  readonly accepted: number;
  readonly bytes: number;
  readonly seconds: number;
  /** The first document on which scanner and `JSON.parse` differ. */
  readonly failure: { readonly index: number; readonly difference: string; readonly document: Buffer } | null;
}

/** Compares so many documents of one seed; stops at the first difference. `seen` is told every `every` documents. */
export function proveScanner(seed: number, documents: number, every: number, seen: (done: number) => void): Proof {
  const random = new Random(seed);
  const begun = performance.now();
  let accepted = 0;
  let bytes = 0;
  let failure: Proof['failure'] = null;
  let index = 0;
  for (; index < documents && failure === null; index += 1) {
    const document = generateDocument(random);
    const { accepted: isAccepted, difference } = compareScan(document);
    if (isAccepted) accepted += 1;
    bytes += document.bytes.length;
    if (difference !== null) failure = { index, difference, document: document.bytes };
    if ((index + 1) % every === 0) seen(index + 1);
  }
  return { seed, documents: index, accepted, bytes, seconds: (performance.now() - begun) / 1000, failure };
}
