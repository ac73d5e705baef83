/** The row that a statement must have written. */
export async function written<R>(row: Promise<R | null>): Promise<R> {
  const found = await row;
  if (found === null) throw new Error('a row that must be there is missing');
  return found;
}
