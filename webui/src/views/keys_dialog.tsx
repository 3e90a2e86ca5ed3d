import { X } from 'lucide-react';
import { KEY_GROUPS } from '../state/keys';
import { showOverlay } from '../state/ui';
import { Button } from '../widgets/button';
import { Dialog } from '../widgets/dialog';
import { KeyList } from '../widgets/key_list';
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
            <KeyList keys={keys} />
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
