import { Unplug } from 'lucide-react';
import './connection_banner.css';

interface Props {
  attempt: number;
  // The job was over before: nothing is missed.
  ended: boolean;
  onRetry: () => void;
}

// The page keeps what it knows and goes on by itself when the server answers.
export function ConnectionBanner({ attempt, ended, onRetry }: Props) {
  if (ended) {
    return (
      <div className="banner banner-over" role="status">
        <Unplug aria-hidden size={15} />
        <span>
          <strong>The server has gone, after the job.</strong> What is loaded stays to be seen.
        </span>
        <button type="button" className="banner-button" onClick={onRetry}>
          Look for it
        </button>
      </div>
    );
  }
  return (
    <div className="banner" role="alert">
      <Unplug aria-hidden size={15} />
      <span>
        <strong>Connection to the server lost.</strong> What you see may be old; trying to
        reconnect{attempt > 1 ? ` (attempt ${attempt})` : ''}…
      </span>
      <button type="button" className="banner-button" onClick={onRetry}>
        Retry now
      </button>
    </div>
  );
}
