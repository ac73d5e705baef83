import { Menu, TextInput } from '@mantine/core';
import { useState } from 'react';
import { Icon } from '../ui/icons.js';
import { useCurrent } from './current-account.js';

/** Most accounts shown; above this number, a search field appears. */
const SHOWN_MAX = 8;

/** The current account; a menu if the person has several. */
export function AccountMenu() {
  const { account, accounts, choose } = useCurrent();
  const [text, setText] = useState('');
  if (accounts.length < 2) return null;
  const found = accounts.filter(({ name }) => name.toLowerCase().includes(text.trim().toLowerCase()));
  return (
    <Menu position="bottom-start" width="target" onClose={() => setText('')}>
      <Menu.Target>
        <button type="button" className="person boxed">
          <span className="names">
            <span className="clip strong">{account.name}</span>
            <span className="clip tiny muted">{about(account)}</span>
          </span>
          <Icon name="chevron" size={16} />
          <span className="hidden-text">Choose another account</span>
        </button>
      </Menu.Target>
      <Menu.Dropdown>
        {accounts.length > SHOWN_MAX && (
          <TextInput
            aria-label="Search your accounts"
            placeholder="Search"
            size="xs"
            mb={4}
            value={text}
            onChange={(event) => setText(event.currentTarget.value)}
            // Stops the menu from jumping to the entry that begins with a typed letter.
            onKeyDown={(event) => {
              if (event.key !== 'ArrowDown' && event.key !== 'Escape') event.stopPropagation();
            }}
          />
        )}
        {found.slice(0, SHOWN_MAX).map((entry) => (
          <Menu.Item
            key={entry.id}
            onClick={() => choose(entry.id)}
            rightSection={entry.id === account.id ? <Icon name="check" size={16} /> : null}
          >
            <span className="clip" style={{ display: 'block' }}>
              {entry.name}
            </span>
            <span className="tiny muted">{about(entry)}</span>
          </Menu.Item>
        ))}
        {found.length === 0 && <Menu.Label>No match</Menu.Label>}
        {found.length > SHOWN_MAX && <Menu.Label>{found.length - SHOWN_MAX} more: type to search</Menu.Label>}
      </Menu.Dropdown>
    </Menu>
  );
}

function about({ type, role }: { readonly type: string; readonly role: string }): string {
  return type === 'team' ? `Team · ${role}` : 'Personal';
}
