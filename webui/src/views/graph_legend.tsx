import { CurrentArrow, HitBadge, WatchDot } from '../widgets/node_marks';

// What the colours and shapes on the graph mean.
export function GraphLegend() {
  return (
    <ul className="legend" aria-label="Legend">
      <li>
        <CurrentArrow /> current
      </li>
      <li>
        <HitBadge count={1} /> hits
      </li>
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
