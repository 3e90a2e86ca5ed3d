import { Unplug } from 'lucide-react';
import './connection_banner.css';

interface Props {
  attempt: number;
  onRetry: () => void;
}

// The page keeps what it knows and goes on by itself when the server answers.
export function ConnectionBanner({ attempt, onRetry }: Props) {
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
