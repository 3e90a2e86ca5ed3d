// Colours the graph by a statistic of the current step: the choice and the scale.

import { ChartNoAxesGantt } from 'lucide-react';
import { useEffect, useMemo } from 'react';
import { formatCount, formatNumber } from '../base/format';
import type { BoxHealth } from '../base/health';
import { HealthMap, measureHealth, METRICS, type Health, type Metric } from '../index/health';
import { describe } from '../state/describe';
import { colourBy, setShownHealth, showTimeline, useHealth } from '../state/health';
import { useScopes } from '../state/scopes';
import { useSelectedRank } from '../state/router';
import { useStepStatistics } from '../state/step_statistics';
import { touch } from '../state/ui';
import { Button } from '../widgets/button';
import * as words from '../words/health';
import { useJobContext } from './job_context';
import { useStopVersion } from './use_stop_version';
import './graph_health.css';

// Only the main graph has statistics by node.
const MAIN = 'main';

function valueText(metric: Metric, value: number): string {
  if (metric === 'zeros' || metric === 'non_finite') return words.share(formatNumber(100 * value, 3));
  return formatNumber(value, 4);
}

function healthText(metric: Metric, { value, nan, infinite }: BoxHealth): string | null {
  const parts = [];
  if (nan > 0) parts.push(words.nan(formatCount(nan)));
  if (infinite > 0) parts.push(words.infinite(formatCount(infinite)));
  if (!Number.isNaN(value)) parts.push(words.valueOf(words.metrics[metric], valueText(metric, value)));
  return parts.length === 0 ? null : parts.join(' · ');
}

// Null while there is nothing to show.
function useHealthMap(metric: Metric | null) {
  const { id, hitIndex } = useJobContext();
  const rank = useSelectedRank();
  const version = useStopVersion();
  const index = useScopes((state) => state.index);
  const isMain = useScopes(({ graph }) => graph === null || graph === MAIN);
  const { data, error, isFetching } = useStepStatistics(id, rank, version, metric !== null && isMain);
  // Other statistics do not depend on the hits, which arrive in bursts.
  const hits = metric === 'hits' ? hitIndex : null;
  const map = useMemo(() => {
    if (metric === null || !isMain || index === null || data === undefined) return null;
    return new HealthMap(index, measureHealth(index, data, metric, hits ?? new Map()));
  }, [metric, isMain, index, data, hits]);
  useEffect(() => {
    const text = (name: string) => {
      const found = map?.at(name) ?? null;
      return map && found && healthText(map.health.metric, found);
    };
    setShownHealth(map && { at: (name) => map.at(name), text, ofItem: (item) => map.ofItem(item) });
    return () => setShownHealth(null);
  }, [map]);
  return { map, error, isFetching };
}

function Scale({ health }: { health: Health }) {
  const { metric, low, high, measured, complete, step } = health;
  return (
    <>
      {low !== null && high !== null && metric !== 'non_finite' && (
        <span className="health-scale" title={words.hiddenOps}>
          <span>{valueText(metric, low)}</span>
          <span className="health-ramp" aria-hidden />
          <span>{valueText(metric, high)}</span>
        </span>
      )}
      <span className="health-bad">{words.notFinite}</span>
      <span className="health-note">
        {measured === 0 && metric !== 'hits' ? words.noValues : words.measured(measured, step)}
        {!complete && <span title={words.whyIncomplete}> · {words.incomplete}</span>}
      </span>
    </>
  );
}

export function GraphHealth() {
  const metric = useHealth((state) => state.metric);
  const timeline = useHealth((state) => state.timeline);
  const { map, error, isFetching } = useHealthMap(metric);
  return (
    <div className="health" role="group" aria-label={words.colourBy}>
      <label className="health-choice">
        {words.colourBy}
        <select
          className="field"
          value={metric ?? ''}
          onChange={({ target }) => {
            touch();
            colourBy(target.value === '' ? null : (target.value as Metric));
          }}
        >
          <option value="">{words.nothing}</option>
          {METRICS.map((each) => (
            <option key={each} value={each}>
              {words.metrics[each]}
            </option>
          ))}
        </select>
      </label>
      <span className="health-state" role="status">
        {error !== null && metric !== null ? describe(error) : map !== null && <Scale health={map.health} />}
        {isFetching && map === null && words.loading}
      </span>
      <Button
        label={timeline ? words.hideTimeline : words.showTimeline}
        icon={ChartNoAxesGantt}
        iconOnly
        small
        tone="quiet"
        pressed={timeline}
        onClick={() => {
          touch();
          showTimeline(!timeline);
        }}
      />
    </div>
  );
}
