import { X } from 'lucide-react';
import { KEY_GROUPS } from '../state/keys';
import { showOverlay } from '../state/ui';
import { Button } from '../widgets/button';
import { Dialog } from '../widgets/dialog';
import './keys_dialog.css';

export function KeysDialog() {
  const close = () => showOverlay(null);
  return (
    <Dialog label="Keys" className="keys" onClose={close}>
      <header className="keys-head">
        <h2>Keys</h2>
      </header>
      <div className="keys-groups" tabIndex={0} role="group" aria-label="List of keys">
        {KEY_GROUPS.map(({ title, keys }) => (
          <section key={title}>
            <h3>{title}</h3>
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
          </section>
        ))}
      </div>
      {/* Last, so that the list is what has the focus first. */}
      <span className="keys-close">
        <Button label="Close" icon={X} iconOnly small tone="quiet" onClick={close} />
      </span>
    </Dialog>
  );
}
