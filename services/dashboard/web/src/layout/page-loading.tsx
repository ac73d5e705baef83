import { Loader } from '@mantine/core';

/** Before anything is known. */
export function PageLoading() {
  return (
    <main className="loading-page" aria-busy="true">
      <Loader size="sm" color="gray" />
      <span className="hidden-text">Loading</span>
    </main>
  );
}
