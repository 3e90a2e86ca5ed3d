// A button that stays focusable while it is disabled, with the reason in its tooltip.

import type { LucideIcon } from 'lucide-react';
import { Tooltip } from './tooltip';
import { Spinner } from './spinner';
import './button.css';

export interface ButtonProps {
  label: string;
  // The accessible name, which contains the label, where that alone does not say what the button is for.
  name?: string;
  // Follows the label and is no part of the button's name.
  caption?: string;
  icon?: LucideIcon;
  iconOnly?: boolean;
  onClick: () => void;
  // Empty or absent if the button is enabled.
  disabledReason?: string | undefined;
  // Text of the tooltip, instead of the label.
  hint?: string | undefined;
  shortcut?: string | undefined;
  tone?: 'plain' | 'quiet' | 'primary' | 'danger' | 'critical';
  pending?: boolean;
  pressed?: boolean;
  small?: boolean;
  submit?: boolean;
}

export function Button({
  label,
  name,
  caption = '',
  icon: Icon,
  iconOnly = false,
  onClick,
  disabledReason = '',
  hint,
  shortcut,
  tone = 'plain',
  pending = false,
  pressed,
  small = false,
  submit = false,
}: ButtonProps) {
  const disabled = disabledReason !== '';
  const button = (
    <button
      type={submit ? 'submit' : 'button'}
      className={`button button-${tone}${small ? ' button-small' : ''}${iconOnly ? ' button-icon' : ''}`}
      aria-label={name ?? (iconOnly ? label : undefined)}
      aria-disabled={disabled || undefined}
      aria-description={disabled ? disabledReason : undefined}
      aria-busy={pending || undefined}
      aria-pressed={pressed}
      onClick={(event) => {
        if (disabled) {
          event.preventDefault();
          return;
        }
        if (!submit) onClick();
      }}
    >
      {pending ? <Spinner /> : Icon !== undefined && <Icon aria-hidden size={small ? 14 : 15} />}
      {!iconOnly && <span>{label}</span>}
      {caption !== '' && (
        <span className="button-caption" aria-hidden>
          {caption}
        </span>
      )}
    </button>
  );
  const text = disabled ? `${label}: ${disabledReason}` : (hint ?? (iconOnly ? label : ''));
  if (text === '' && shortcut === undefined) return button;
  return (
    <Tooltip text={text === '' ? label : text} shortcut={disabled ? undefined : shortcut}>
      {button}
    </Tooltip>
  );
}
