import { CurrentArrow, HitBadge, WatchDot } from '../widgets/node_marks';

// What the colours and shapes on the graph mean.
// `trail`: something is not finite, and it is known where that began.
export function GraphLegend({ trail }: { trail: boolean }) {
  return (
    <ul className="legend" aria-label="Legend">
      <li>
        <CurrentArrow /> current
      </li>
      <li>
        <HitBadge count={1} /> {trail ? 'hits, origin' : 'hits'}
      </li>
      {trail && (
        <li>
          <span className="legend-propagated" aria-hidden /> propagated
        </li>
      )}
      <li>
        <WatchDot watched="all" /> watched
      </li>
      <li className="legend-swatch legend-activation">activation</li>
      <li className="legend-swatch legend-gradient">gradient</li>
      <li className="legend-swatch legend-optimizer">optimizer</li>
      <li className="legend-swatch legend-weight">weight</li>
    </ul>
  );
}
