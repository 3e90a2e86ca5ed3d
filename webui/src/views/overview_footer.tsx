// The legend, and what measuring costs.

import { formatNumber } from '../base/format';
import { measuringShare, strideOf } from '../overview/steps';
import { describe } from '../state/describe';
import { useJob } from '../state/job_store';
import { useOverview } from '../state/overview_store';
import * as words from '../words/overview';
import type { Shown } from './overview_shown';

function ends({ data, range }: Shown): [string, string] {
  if (data.measure === 'zeros') return ['0 %', '100 %'];
  if (data.measure === 'time') return [words.milliseconds(range.low), words.milliseconds(range.high)];
  return [formatNumber(range.low, 2), formatNumber(range.high, 2)];
}

function Legend({ shown }: { shown: Shown }) {
  const { measure } = shown.data;
  const [low, high] = ends(shown);
  return (
    <ul className="overview-legend" aria-label={words.legend(words.measureTexts[measure])}>
      {measure === 'non_finite' ? (
        <li>
          <span className="overview-swatch overview-swatch-none" /> {words.finite}
        </li>
      ) : (
        <li title={words.measureTexts[measure]}>
          <span className="mono">{low}</span>
          <span className="overview-ramp" />
          <span className="mono">{high}</span>
        </li>
      )}
      <li>
        <span className="overview-swatch overview-swatch-bad" /> {words.notFinite}
      </li>
      <li>
        <span className="overview-swatch overview-swatch-nothing" /> {words.notMeasured}
      </li>
    </ul>
  );
}

function TimeLegend() {
  return (
    <ul className="overview-legend" aria-label={words.legend(words.durations)}>
      <li>
        <span className="overview-swatch overview-swatch-bar" /> {words.training}
      </li>
      <li>
        <span className="overview-swatch overview-swatch-measuring" /> {words.measuring}
      </li>
    </ul>
  );
}

// `picture`: the modules are shown, and not only the times of whole steps.
export function OverviewFooter({ shown, picture }: { shown: Shown; picture: boolean }) {
  const { steps } = shown.data;
  const share = measuringShare(steps);
  const stride = strideOf(steps);
  const overhead = useJob(({ model }) => model.info?.overhead ?? null);
  const facts = [
    words.stepsShown(steps[0]?.step ?? 0, steps.at(-1)?.step ?? 0),
    ...(stride > 1 ? [words.everyStep(stride)] : []),
    ...(share === null ? [] : [words.measuringTime(share)]),
    ...(overhead === null ? [] : [words.ownCode(overhead)]),
  ];
  const problem = useOverview((state) => state.problem);
  const text = problem === null ? facts.join(' · ') : describe(problem);
  return (
    <footer className="overview-footer">
      {picture ? <Legend shown={shown} /> : <TimeLegend />}
      <span className="grow" />
      <span className="ellipsis" title={text}>
        {text}
      </span>
    </footer>
  );
}
