import type { ApplyAnswer } from '@gateway/contracts/operator';
import type { TestOperator } from './operator.js';

/** Limit per document, because the document and its result are bus messages. */
const OBJECTS_MAX = 90;

/** Applies the objects in their order. Resolves when they are in force everywhere. */
export async function applyObjects(operator: TestOperator, objects: readonly object[]): Promise<void> {
  for (let from = 0; from < objects.length; from += OBJECTS_MAX) {
    const some = objects.slice(from, from + OBJECTS_MAX);
    const { inForce } = await operator.must<ApplyAnswer>('POST', '/apply', { objects: some });
    // Applying the same objects again changes nothing, but waits once more.
    if (!inForce) await operator.must('POST', '/apply', { objects: some });
  }
}
