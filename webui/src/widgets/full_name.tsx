// A full name with its path muted. A name that does not fit is cut at the front, since its
// end is the most specific part.

import { visible } from '../base/visible';
import './full_name.css';

export function FullName({ name: raw }: { name: string }) {
  const name = visible(raw);
  const cut = name.lastIndexOf('/') + 1;
  return (
    <span className="full-name mono">
      <bdi>
        <span className="full-name-path">{name.slice(0, cut)}</span>
        {name.slice(cut)}
      </bdi>
    </span>
  );
}
