import { Button, TextInput } from '@mantine/core';
import { useState } from 'react';
import { Icon } from '../../ui/icons.js';

/** Finds a request by the ID in its response. */
export function Lookup({ onFound }: { readonly onFound: (requestId: string) => void }) {
  const [id, setId] = useState('');
  return (
    <form
      className="card card-body row end"
      role="search"
      aria-label="Look up a request ID"
      onSubmit={(event) => {
        event.preventDefault();
        if (id.trim() !== '') onFound(id.trim());
      }}
    >
      <TextInput
        className="grow"
        label="Look up a request ID"
        description="From the header x-gateway-request-id of a response, or from an error. Also finds refused requests."
        placeholder="01a1fa15-41e2-7329-a5b8-075614430db0"
        value={id}
        leftSection={<Icon name="search" size={16} />}
        onChange={(event) => setId(event.currentTarget.value)}
        autoComplete="off"
        spellCheck={false}
      />
      <Button type="submit" variant="default" disabled={id.trim() === ''}>
        Look up
      </Button>
    </form>
  );
}
