// Changes the depth of the neighbourhood that is shown.

import { Minus, Plus } from 'lucide-react';
import { MAX_AROUND } from '../state/route';
import { showAround } from '../state/scopes';
import { Button } from '../widgets/button';
import * as words from '../words/graph';

export function DistanceButtons({ depth }: { depth: number }) {
  return (
    <>
      <Button label={words.decreaseDistance} icon={Minus} iconOnly small tone="quiet"
        disabledReason={depth <= 1 ? words.minimumDistance : undefined} onClick={() => showAround(depth - 1)} />
      <span className="mono" role="status" aria-label={words.distance}>{depth}</span>
      <Button label={words.increaseDistance} icon={Plus} iconOnly small tone="quiet"
        disabledReason={depth >= MAX_AROUND ? words.maximumDistance : undefined} onClick={() => showAround(depth + 1)} />
    </>
  );
}
