// Shown while the server cannot store what happens. It disappears by itself.

import { HardDrive } from 'lucide-react';
import { useStorage } from '../state/storage';
import { clockTime } from '../words/age';
import * as words from '../words/storage';
import './connection_banner.css';

export function StorageBanner() {
  const storage = useStorage((state) => state.storage);
  if (storage?.state !== 'failing') return null;
  return (
    <div className="banner" role="alert">
      <HardDrive aria-hidden size={15} />
      <span>
        <strong>{words.notStored(storage.reason)}</strong> {words.notStoredMeaning}{' '}
        {storage.since !== null && words.since(clockTime(storage.since))}
      </span>
    </div>
  );
}
