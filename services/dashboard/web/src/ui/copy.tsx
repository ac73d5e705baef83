import { ActionIcon } from '@mantine/core';
import { useState } from 'react';
import { Icon } from './icons.js';
import { useToast } from './toasts.js';

/** How long the button shows a check mark after copying. */
const COPIED_MS = 1_500;

/** Copies a text and announces it. */
export function CopyButton({ text, label, size = 28 }: { text: string; label: string; size?: number }) {
  const [copied, setCopied] = useState(false);
  const toast = useToast();
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(text);
    } catch {
      toast('The browser does not allow copying. Select the text and copy it.');
      return;
    }
    setCopied(true);
    toast('Copied');
    setTimeout(() => setCopied(false), COPIED_MS);
  };
  return (
    <ActionIcon variant="subtle" color="gray" size={size} aria-label={label} title={label} onClick={() => void copy()}>
      <Icon name={copied ? 'check' : 'copy'} size={16} />
    </ActionIcon>
  );
}

/** A short text with its copy button. */
export function CopyText({ text, label }: { readonly text: string; readonly label: string }) {
  return (
    <span className="row fixed" style={{ display: 'inline-flex', gap: 2, verticalAlign: 'middle', maxWidth: '100%' }}>
      <code className="code breakable">{text}</code>
      <CopyButton text={text} label={label} size={24} />
    </span>
  );
}

/** A value in a box with a copy button. */
export function CopyLine({ text, label }: { readonly text: string; readonly label: string }) {
  return (
    <div className="copy-line">
      <code>{text}</code>
      <CopyButton text={text} label={label} />
    </div>
  );
}

/** Code or a file in a box; a single line is wrapped, so that all of it is visible. */
export function CodeBlock({ code, label }: { readonly code: string; readonly label: string }) {
  return (
    <div className={code.trimEnd().includes('\n') ? 'code-block' : 'code-block one-line'}>
      <pre tabIndex={0} aria-label={label}>
        <code>{code}</code>
      </pre>
      <div className="copy">
        <CopyButton text={code} label={`Copy: ${label}`} />
      </div>
    </div>
  );
}

/** Longer IDs are shown without their middle. */
const WHOLE_MAX = 20;
const BEGIN = 10;
const END = 6;

/** An ID in a column without its middle. The full ID is on hover. */
export function ShortId({ id }: { readonly id: string }) {
  return (
    <span className="code nowrap" title={id}>
      {shortId(id)}
    </span>
  );
}

/** Shortens a long ID. */
export function shortId(id: string): string {
  return id.length <= WHOLE_MAX ? id : `${id.slice(0, BEGIN)}…${id.slice(-END)}`;
}
