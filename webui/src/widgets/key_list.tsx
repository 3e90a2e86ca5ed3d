// A list of keyboard shortcuts with their effects.

import type { KeyHelp } from '../words/keys';

export function KeyList({ keys }: { keys: readonly KeyHelp[] }) {
  return (
    <dl>
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
