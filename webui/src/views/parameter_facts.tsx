// The gradient of the selected parameter, and whether it gets one at all.

import { useMemo } from 'react';
import type { NodeDetail } from '../api/types';
import { formatCount, formatNumber } from '../base/format';
import { gradientOf, type Gradient } from '../index/gradients';
import type { GraphIndex } from '../index/graph_index';
import { revealNode, useScopes } from '../state/scopes';
import { touch } from '../state/ui';
import { FullName } from '../widgets/full_name';
import * as words from '../words/node';
import { useOutputStatistics } from './use_output_statistics';

function GradientFacts({ parameter, gradient }: { parameter: string; gradient: string }) {
  const known = useOutputStatistics([parameter, gradient]);
  const [weight, slope] = [known.get(parameter), known.get(gradient)];
  const facts: Array<[string, string]> = [];
  if (slope !== undefined) {
    const { l2, abs_mean, zero_count, count } = slope.statistics;
    facts.push([words.gradientNorm, formatNumber(l2, 4)], [words.gradientMean, formatNumber(abs_mean, 4)]);
    facts.push([words.gradientZeros, words.ofAll(formatCount(zero_count), formatCount(count))]);
    const own = weight?.statistics.l2;
    if (typeof own === 'number' && own > 0 && typeof l2 === 'number') facts.push([words.gradientRatio, formatNumber(l2 / own, 4)]);
  }
  return (
    <>
      <div className="fact">
        <dt>{words.gradient}</dt>
        <dd>
          <button
            type="button"
            className="link"
            title={gradient}
            onClick={() => {
              touch();
              revealNode(gradient);
            }}
          >
            <FullName name={gradient} />
          </button>
          {slope !== undefined && slope.old !== null && <span className="muted">{words.ofStep(slope.old)}</span>}
        </dd>
      </div>
      {facts.map(([label, text]) => (
        <div key={label} className="fact">
          <dt>{label}</dt>
          <dd className="mono">{text}</dd>
        </div>
      ))}
    </>
  );
}

const REQUIRED: Record<Gradient['state'], string> = {
  computed: words.requiresGrad,
  none: words.notReached,
  unknown: words.requiredGrad,
};

// The agent's word for it; older agents leave it to what the backward pass computes.
function requiresGrad(node: NodeDetail, { state }: Gradient): string {
  const own = node.attributes['requires_grad'];
  if (own === 'False') return words.frozen;
  return own === 'True' ? REQUIRED[state] : REQUIRES_GRAD[state];
}

const REQUIRES_GRAD: Record<Gradient['state'], string> = {
  computed: words.requiresGrad,
  none: words.noGradient,
  unknown: words.gradientUnknown,
};

function Facts({ node, index }: { node: NodeDetail; index: GraphIndex }) {
  const gradient = useMemo(() => gradientOf(index, node.name), [index, node.name]);
  return (
    <>
      <h3>{words.training}</h3>
      <dl className="facts parameter-facts">
        <div className="fact">
          <dt className="mono">requires_grad</dt>
          <dd>{requiresGrad(node, gradient)}</dd>
        </div>
        {gradient.state === 'computed' && <GradientFacts parameter={node.name} gradient={gradient.node} />}
      </dl>
    </>
  );
}

export function ParameterFacts({ node }: { node: NodeDetail }) {
  const index = useScopes((state) => state.index);
  return index === null ? null : <Facts node={node} index={index} />;
}
