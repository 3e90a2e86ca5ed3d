import { Unplug } from 'lucide-react';
import * as words from '../words/job';
import './connection_banner.css';

interface Props {
  attempt: number;
  // The job ended before the connection was lost, so no events are missed.
  ended: boolean;
  onRetry: () => void;
}

// Shown while the connection is lost. The page keeps its data and reconnects by itself.
export function ConnectionBanner({ attempt, ended, onRetry }: Props) {
  if (ended) {
    return (
      <div className="banner banner-over" role="status">
        <Unplug aria-hidden size={15} />
        <span>
          <strong>{words.serverStopped}</strong> {words.dataRemains}
        </span>
        <button type="button" className="banner-button" onClick={onRetry}>
          {words.reconnect}
        </button>
      </div>
    );
  }
  return (
    <div className="banner" role="alert">
      <Unplug aria-hidden size={15} />
      <span>
        <strong>{words.connectionLost}</strong> {words.reconnecting(attempt)}
      </span>
      <button type="button" className="banner-button" onClick={onRetry}>
        {words.retryNow}
      </button>
    </div>
  );
}
