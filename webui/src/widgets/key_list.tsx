// Keys, and what they do.

import type { KeyHelp } from '../state/keys';

export function KeyList({ keys, className }: { keys: readonly KeyHelp[]; className?: string }) {
  return (
    <dl className={className}>
      {keys.map(({ keys: names, text }) => (
        <div key={text}>
          <dt>
            {names.map((name) => (
              <kbd key={name} className="key">
                {name}
              </kbd>
            ))}
          </dt>
          <dd>{text}</dd>
        </div>
      ))}
    </dl>
  );
}
