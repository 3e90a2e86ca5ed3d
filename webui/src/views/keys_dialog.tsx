import { X } from 'lucide-react';
import { showOverlay } from '../state/ui';
import { Button } from '../widgets/button';
import { Dialog } from '../widgets/dialog';
import { KeyList } from '../widgets/key_list';
import { close as closeText } from '../words/common';
import { guide, guidePages, pageAddress } from '../words/guide';
import { keyboardShortcuts } from '../words/job';
import { KEY_GROUPS } from '../words/keys';
import { shortcutList } from '../words/palette';
import './keys_dialog.css';

export function KeysDialog() {
  const close = () => showOverlay(null);
  return (
    <Dialog label={keyboardShortcuts} className="keys" onClose={close}>
      <header className="keys-head">
        <h2>{keyboardShortcuts}</h2>
      </header>
      <div className="keys-groups" tabIndex={0} role="group" aria-label={shortcutList}>
        <div className="keys-columns">
          {KEY_GROUPS.map(({ title, keys }) => (
            <section key={title}>
              <h3>{title}</h3>
              <KeyList keys={keys} />
            </section>
          ))}
        </div>
      </div>
      <nav className="keys-guide" aria-label={guide}>
        <span className="muted">{guide}</span>
        {guidePages.map(([page, title]) => (
          <a key={page} href={pageAddress(page)} target="_blank" rel="noopener">
            {title}
          </a>
        ))}
      </nav>
      {/* Last, so that the list gets the focus first. */}
      <span className="keys-close">
        <Button label={closeText} icon={X} iconOnly small tone="quiet" onClick={close} />
      </span>
    </Dialog>
  );
}
