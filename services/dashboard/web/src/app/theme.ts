import { Button, Drawer, Menu, Modal, createTheme, defaultVariantColorsResolver } from '@mantine/core';

/**
 * Colours and sizes are defined in `styles/tokens.css`, because the content security policy forbids
 * the style elements that the library would write. Scroll locking of dialogues is off for the same
 * reason.
 */
export const theme = createTheme({
  respectReducedMotion: true,
  cursorType: 'pointer',
  defaultRadius: 'var(--radius-small)',
  variantColorResolver(input) {
    if (input.variant === 'filled' && (input.color === undefined || input.color === 'blue')) {
      return {
        background: 'var(--accent)',
        hover: 'var(--accent-hover)',
        color: 'var(--on-accent)',
        border: '1px solid transparent',
      };
    }
    if (input.variant === 'danger') {
      return {
        background: 'var(--bad-soft)',
        hover: 'color-mix(in srgb, var(--bad) 22%, var(--bad-soft))',
        color: 'var(--bad-text)',
        border: '1px solid color-mix(in srgb, var(--bad) 35%, transparent)',
      };
    }
    if (input.variant === 'subtle') {
      return {
        background: 'transparent',
        hover: 'var(--surface-sunk)',
        color: 'var(--text-soft)',
        border: '1px solid transparent',
      };
    }
    return defaultVariantColorsResolver(input);
  },
  components: {
    Button: Button.extend({ defaultProps: { size: 'sm' } }),
    Modal: Modal.extend({
      defaultProps: { lockScroll: false, centered: true, closeButtonProps: { 'aria-label': 'Close' } },
    }),
    Drawer: Drawer.extend({ defaultProps: { lockScroll: false, closeButtonProps: { 'aria-label': 'Close' } } }),
    Menu: Menu.extend({ defaultProps: { shadow: 'none', position: 'bottom-end' } }),
  },
});
