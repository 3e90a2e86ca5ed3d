// A text field that suggests values while the user types.

import { useEffect, useId, useMemo, useState } from 'react';
import { suggested } from '../words/common';
import './combo_field.css';

interface Props {
  label: string;
  value: string;
  placeholder?: string;
  // Values that fit the text, the best first.
  suggest: (text: string) => readonly string[];
  isValid: (text: string) => boolean;
  onSubmit: (value: string) => void;
}

export function ComboField({ label, value, placeholder, suggest, isValid, onSubmit }: Props) {
  const list = useId();
  const [text, setText] = useState(value);
  useEffect(() => setText(value), [value]);
  const [open, setOpen] = useState(false);
  // The marked suggestion; -1 for the text itself.
  const [at, setAt] = useState(-1);
  // The value itself would suggest little else than itself.
  const wanted = text === value ? '' : text;
  const suggestions = useMemo(() => (open ? suggest(wanted) : []), [open, wanted, suggest]);
  const shown = open && suggestions.length > 0;
  const submit = (next: string) => {
    setOpen(false);
    setAt(-1);
    setText(next);
    if (next !== value) onSubmit(next);
  };
  const move = (by: number) => {
    setOpen(true);
    setAt((before) => Math.max(-1, Math.min(suggestions.length - 1, before + by)));
  };
  const onKeyDown = (event: React.KeyboardEvent) => {
    if (event.key === 'Enter') submit(suggestions[at] ?? text.trim());
    else if (event.key === 'ArrowDown') move(1);
    else if (event.key === 'ArrowUp') move(-1);
    else if (event.key === 'Escape' && shown) setOpen(false);
    else return;
    event.preventDefault();
    event.stopPropagation();
  };
  return (
    <span className="combo">
      <input
        className="field mono"
        role="combobox"
        aria-label={label}
        aria-expanded={shown}
        aria-controls={shown ? list : undefined}
        aria-autocomplete="list"
        aria-activedescendant={shown && at >= 0 ? `${list}-${at}` : undefined}
        aria-invalid={!isValid(text.trim()) || undefined}
        placeholder={placeholder}
        autoComplete="off"
        spellCheck={false}
        value={text}
        onFocus={(event) => event.target.select()}
        onClick={() => setOpen(true)}
        onChange={(event) => {
          setText(event.target.value);
          setOpen(true);
          setAt(-1);
        }}
        onBlur={() => submit(text.trim())}
        onKeyDown={onKeyDown}
      />
      {shown && (
        <ul id={list} role="listbox" aria-label={suggested} className="combo-list">
          {suggestions.map((each, i) => (
            <li
              key={each}
              id={`${list}-${i}`}
              role="option"
              aria-selected={i === at}
              className="mono ellipsis"
              title={each}
              // Before the field loses the focus.
              onPointerDown={(event) => {
                event.preventDefault();
                submit(each);
              }}
            >
              {each}
            </li>
          ))}
        </ul>
      )}
    </span>
  );
}
