import { Button } from '@mantine/core';
import type { TokenUsed } from '@gateway/contracts/pages';
import { useState } from 'react';
import { Link } from 'react-router';
import { Door } from '../../layout/door.js';
import { Notice } from '../../ui/notice.js';
import { ChoosePassword } from './choose-password.js';

const TITLE = 'Choose a new password';

/** Where the link of a reset mail leads. */
export function Component() {
  const [done, setDone] = useState<TokenUsed | null>(null);
  if (done !== null) {
    return (
      <Door title={TITLE}>
        <Notice tone="good" announced title="The new password is set">
          <span className="breakable">{done.email}</span>
        </Notice>
        <Button component={Link} to="/sign-in" fullWidth>
          Sign in
        </Button>
      </Door>
    );
  }
  return (
    <ChoosePassword
      title={TITLE}
      about="All sessions of this account end, on every device."
      path="/reset-password"
      submit="Set password"
      onDone={setDone}
      spent={<Link to="/forgot">Send a new link</Link>}
    />
  );
}
